/* CRC-32C: by folding with wide products where the processor has them, by its own instruction for what is short,
 * else by eight tables. `crc_ready` comes first. */
#ifndef MILLSTREAM_CRC_H
#define MILLSTREAM_CRC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint32_t crc_table[8][256];

static void crc_prepare(void) {
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t crc = n;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
        crc_table[0][n] = crc;
    }
    for (uint32_t n = 0; n < 256; n++)
        for (int k = 1; k < 8; k++)
            crc_table[k][n] = crc_table[k - 1][n] >> 8 ^ crc_table[0][crc_table[k - 1][n] & 0xff];
}

static uint32_t crc_by_table(uint32_t crc, const uint8_t *p, size_t size) {
    while (size >= 8) {
        crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        crc = crc_table[7][crc & 0xff] ^ crc_table[6][crc >> 8 & 0xff] ^ crc_table[5][crc >> 16 & 0xff] ^
              crc_table[4][crc >> 24] ^ crc_table[3][p[4]] ^ crc_table[2][p[5]] ^ crc_table[1][p[6]] ^
              crc_table[0][p[7]];
        p += 8;
        size -= 8;
    }
    while (size-- > 0) crc = crc >> 8 ^ crc_table[0][(crc ^ *p++) & 0xff];
    return crc;
}

static uint32_t (*crc_update)(uint32_t, const uint8_t *, size_t) = crc_by_table;

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* The instruction takes one word a cycle, but gives its result after three: three stretches side by side keep
 * it busy. What comes before a stretch counts as if as many zeros followed it: `crc_skip` is that, by tables. */
enum { CRC_STRETCH = 1024 };

static uint32_t crc_skipped[4][256]; /* of each byte of a checksum, after CRC_STRETCH zeros */

static uint32_t crc_skip(uint32_t crc) {
    return crc_skipped[0][crc & 0xff] ^ crc_skipped[1][crc >> 8 & 0xff] ^ crc_skipped[2][crc >> 16 & 0xff] ^
           crc_skipped[3][crc >> 24];
}

static uint64_t word_at(const uint8_t *p) {
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

__attribute__((target("sse4.2"))) static uint32_t crc_by_instruction(uint32_t crc, const uint8_t *p,
                                                                     size_t size) {
    for (; size >= 3 * CRC_STRETCH; size -= 3 * CRC_STRETCH, p += 3 * CRC_STRETCH) {
        uint64_t first = crc, second = 0, third = 0;
        for (const uint8_t *at = p; at < p + CRC_STRETCH; at += 8) {
            first = _mm_crc32_u64(first, word_at(at));
            second = _mm_crc32_u64(second, word_at(at + CRC_STRETCH));
            third = _mm_crc32_u64(third, word_at(at + 2 * CRC_STRETCH));
        }
        crc = crc_skip(crc_skip((uint32_t)first) ^ (uint32_t)second) ^ (uint32_t)third;
    }
    uint64_t wide = crc;
    for (; size >= 8; size -= 8, p += 8) wide = _mm_crc32_u64(wide, word_at(p));
    crc = (uint32_t)wide;
    while (size-- > 0) crc = _mm_crc32_u8(crc, *p++);
    return crc;
}

/* A checksum is what is left of the data, as a polynomial, by another: 64 bytes may as well be added to those that
 * come later, if they are multiplied with what is left of x to the power of the bits between. Bits are in reverse
 * everywhere, which makes every product one of 33 bits less. Memory is read straight on, which is why this is more
 * than three times as fast for what is in no cache. */
#define CRC_WIDE __attribute__((target("avx512f,avx512vl,vpclmulqdq,pclmul,sse4.2")))

enum { CRC_LANE = 16, CRC_WIDTH = 64, CRC_WIDTHS = 4, CRC_FOLDED = CRC_WIDTHS * CRC_WIDTH };

static uint64_t crc_by_widths[2], crc_by_width[2], crc_by_lane[2]; /* to fold that far: of each half of a lane */

static void crc_distance(uint64_t factors[2], int bytes) {
    for (int half = 0; half < 2; half++) {
        uint32_t power = 0x80000000u;
        for (int bits = 8 * bytes - 33 + (half ? 0 : 64); bits > 0; bits--)
            power = power & 1 ? power >> 1 ^ 0x82f63b78u : power >> 1;
        factors[half] = power;
    }
}

CRC_WIDE static __m512i crc_fold(__m512i data, __m512i factors, __m512i onto) {
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(data, factors, 0x00),
                                     _mm512_clmulepi64_epi128(data, factors, 0x11), onto, 0x96);
}

CRC_WIDE static __m512i crc_factors(const uint64_t factors[2]) {
    return _mm512_broadcast_i32x4(_mm_set_epi64x((long long)factors[1], (long long)factors[0]));
}

CRC_WIDE static uint32_t crc_by_folding(uint32_t crc, const uint8_t *p, size_t size) {
    if (size < 2 * CRC_FOLDED) return crc_by_instruction(crc, p, size);
    __m512i sums[CRC_WIDTHS], factors = crc_factors(crc_by_widths);
    for (int each = 0; each < CRC_WIDTHS; each++) sums[each] = _mm512_loadu_si512(p + each * CRC_WIDTH);
    sums[0] = _mm512_xor_si512(sums[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
    for (p += CRC_FOLDED, size -= CRC_FOLDED; size >= CRC_FOLDED; p += CRC_FOLDED, size -= CRC_FOLDED)
#pragma GCC unroll 4 /* else the sums would not stay in registers */
        for (int each = 0; each < CRC_WIDTHS; each++)
            sums[each] = crc_fold(sums[each], factors, _mm512_loadu_si512(p + each * CRC_WIDTH));
    factors = crc_factors(crc_by_width);
    for (int each = 1; each < CRC_WIDTHS; each++) sums[each] = crc_fold(sums[each - 1], factors, sums[each]);
    uint64_t lanes[CRC_WIDTH / 8];
    _mm512_storeu_si512(lanes, sums[CRC_WIDTHS - 1]);
    __m128i sum = _mm_loadu_si128((const void *)lanes);
    __m128i by = _mm_set_epi64x((long long)crc_by_lane[1], (long long)crc_by_lane[0]);
    for (int each = 2; each < CRC_WIDTH / 8; each += 2)
        sum = _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(sum, by, 0x00), _mm_clmulepi64_si128(sum, by, 0x11)),
                            _mm_loadu_si128((const void *)(lanes + each)));
    uint64_t wide = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(sum));
    wide = _mm_crc32_u64(wide, (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(sum, sum)));
    return crc_by_instruction((uint32_t)wide, p, size);
}

static int crc_folds(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("pclmul");
}

static void crc_choose(void) {
    static const uint8_t zeros[CRC_STRETCH];
    if (!__builtin_cpu_supports("sse4.2")) return;
    for (int place = 0; place < 4; place++)
        for (uint32_t n = 1; n < 256; n++) {
            uint32_t bit = n & -n; /* its lowest: the rest is known */
            crc_skipped[place][n] = n == bit ? crc_by_table(n << (8 * place), zeros, CRC_STRETCH)
                                             : crc_skipped[place][bit] ^ crc_skipped[place][n ^ bit];
        }
    crc_update = crc_by_instruction;
    if (!crc_folds()) return;
    crc_distance(crc_by_widths, CRC_FOLDED);
    crc_distance(crc_by_width, CRC_WIDTH);
    crc_distance(crc_by_lane, CRC_LANE);
    crc_update = crc_by_folding;
}
#else
static void crc_choose(void) {}
#endif

static uint32_t crc32c(const uint8_t *p, size_t size) { return ~crc_update(0xffffffffu, p, size); }

static void crc_ready(void) {
    crc_prepare();
    crc_choose();
}

#endif
