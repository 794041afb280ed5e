/* CRC-32C: the processor's instruction where there is one, else eight tables. `crc_ready` comes first. */
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
#include <nmmintrin.h>

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
