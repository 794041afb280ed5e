/* Rounds: what clients on lanes send, taken and answered without Python, for a moment at a time.
 *
 * A guest is a connection that waits for nothing and is on a lane to one partition; the loop does not listen to it.
 * `go` looks which guests have sent something, takes the frames that are next (`frames.h`), appends their batches to the
 * file with one call for all of a partition, and answers. It ends when somebody else wants the loop's attention, when
 * nobody says anything, or when its time is over; then Python is told what was taken, run by run. Whatever is out of the ordinary is given back with
 * the guest that sent it, byte for byte: nothing is refused here.
 *
 * Logs are Python's. A round is lent the place where a log ends, when it first needs it, and moves on from there on its
 * own until it ends: the loop does nothing else meanwhile, so nobody can see the log in between. What must be synced
 * before anybody is told is synced here as well. Where somebody waits for what is written, `go` ends before it answers,
 * and `answer` follows.
 *
 * A write that fails takes back all that was to be written with it. What was answered before was written before. After a
 * sync that fails nobody is answered.
 *
 * Stable ABI: one build serves every Python from 3.11.
 */
#define _GNU_SOURCE
#include "../../records/frames.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

enum {
    SMALL_BYTES = 64 << 10,    /* frames that are larger are received up to the end of one */
    FRAME_BYTES = 17 << 16,    /* one that is larger than this is not for us; max.message.bytes is 1 MB by default */
    AT_ONCE_BYTES = 1 << 20,   /* of several frames, received before they are written */
    ROOM_BYTES = AT_ONCE_BYTES + FRAME_BYTES,
    HELD_BYTES = 32 << 20,     /* of all large frames that have begun: who finds no room is given back */
    STAY_US = 20,              /* with one who sends a large frame, as long as there comes more */
    STAY_LIMIT_US = 300,
    COPIED_BYTES = 4 << 10,    /* a batch that is larger is written from where it was received */
    EVENTS = 128,
    VISITS = 256,              /* between two writes */
    PARTS = 1024,              /* of one write */
    PARTS_A_VISIT = 2 * (AT_ONCE_BYTES / COPIED_BYTES) + 1,
    BERTHS = 64,               /* logs, senders and runs of one round: who finds no room is given back */
    SENDERS = 256,
    RUNS = 512,
    LOOK_US = 50,              /* from one look whether anybody else waits to the next */
    NOTES = 1024,              /* of one log in one round, and as many of one more visit: its index must hold them */
    PLACE = 10,                /* fields of what `lend` gives */
};

typedef struct {
    PyObject *who, *hosted, *alike_tuple;
    Alike alike;
    int64_t index, producer_id, producer_epoch;
    int fd;
    int64_t visits;         /* since they were last asked for */
    int touched, away;      /* in this round: visited; to be given back */
    int lost;               /* there was no memory for what it sent, or for what is to be sent to it */
    int berth, sender;      /* in this round, or -1 */
    uint8_t *held;          /* the beginning of a frame, or what is given back */
    Py_ssize_t held_size;
    Py_ssize_t whole;       /* if that is a large frame: how large, and what there is memory for; else 0 */
    Py_ssize_t usual;       /* bytes of its last frame */
    int64_t begun_us;       /* when that frame began */
    PyObject *unsent;       /* of its replies, or NULL */
} Guest;

typedef struct {
    PyObject *hosted, *file;
    Place place;
    int prompt;             /* somebody waits for what is written */
    int syncs;              /* nobody may be told before it is synced: of one at the most in a round */
    int run;                /* the last of its runs, or -1 */
    int64_t notes;
} Berth;

typedef struct {
    int berth;
    Sender sender;
} Known;

typedef struct {
    int berth;
    Sender sender; /* as it was before */
    Taken taken;
} Run;

typedef struct {
    Guest *guest;
    Py_ssize_t start, end;          /* in what was received */
    Py_ssize_t replies, replies_end;
} Visit;

typedef struct {
    PyObject_HEAD
    int epoll;       /* all guests, and nobody else */
    Py_ssize_t held; /* memory of those who have begun a large frame */
    Guest **guests; /* by descriptor */
    int room, count;
    uint8_t *received, *copied, *replies;
    Py_ssize_t received_size, copied_size, replies_size;
    Guest **touched;
    int touched_count, touched_room;
    Berth berths[BERTHS];
    Known senders[SENDERS];
    Run runs[RUNS];
    Visit visits[VISITS];
    struct iovec parts[PARTS];
    int berth_count, sender_count, run_count, visit_count, part_count;
    int written_visits;  /* those before are in the file */
    int writing;         /* the berth that parts are for, or -1 */
    Berth before;        /* that berth, its runs and notes, before the parts */
    int runs_before;
    int64_t requests_before;
    Taken taken_before;
    Py_ssize_t notes_before;
    int prompt, full, going;
    struct epoll_event events[EVENTS]; /* who has sent something: those from *heard* on were not visited yet */
    int heard, event_count;
    int64_t requests;
    PyObject *error, *failed; /* of a write, and whose */
    int unsynced;        /* the berth that was written to and is to be synced, or -1 */
    int synced;          /* the one that was synced, or -1; with how often, and how long that took */
    int64_t syncs, syncs_us;
    PyObject *sync_error; /* what is on the disk is not known */
} Rounds;

static int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Guests */

static void free_guest(Rounds *self, Guest *guest) {
    self->held -= guest->whole;
    Py_XDECREF(guest->who);
    Py_XDECREF(guest->hosted);
    Py_XDECREF(guest->alike_tuple);
    Py_XDECREF(guest->unsent);
    free(guest->held);
    free(guest);
}

static Guest *guest_at(const Rounds *self, int fd) { return fd >= 0 && fd < self->room ? self->guests[fd] : NULL; }

static void remove_guest(Rounds *self, Guest *guest) {
    for (int each = 0; guest->touched && each < self->visit_count; each++) /* who goes before he is answered is not */
        if (self->visits[each].guest == guest) self->visits[each].guest = NULL;
    for (int each = 0; guest->touched && each < self->touched_count; each++)
        if (self->touched[each] == guest) self->touched[each--] = self->touched[--self->touched_count];
    epoll_ctl(self->epoll, EPOLL_CTL_DEL, guest->fd, NULL);
    self->guests[guest->fd] = NULL;
    self->count--;
    free_guest(self, guest);
}

/* The bytes of the frame that begins at *data*, of which there are *size*; 0 if that is not known yet. */
static Py_ssize_t frame_size(const uint8_t *data, Py_ssize_t size) { return size < 4 ? 0 : 4 + (Py_ssize_t)u32(data); }

/* Whether *size* bytes of *data* are the beginning of a frame that may still become one for us. */
static int may_go_on(const uint8_t *data, Py_ssize_t size) {
    Py_ssize_t frame = frame_size(data, size);
    return !frame || (frame <= FRAME_BYTES && frame > size);
}

/* What the guest holds was taken from it; memory for a large frame is not kept. */
static void let_go(Rounds *self, Guest *guest) {
    if (guest->whole) {
        self->held -= guest->whole;
        guest->whole = 0;
        free(guest->held);
        guest->held = NULL;
    }
    guest->held_size = 0;
}

/* Keep *size* bytes of *data* for the guest, who holds nothing. The rest of a large frame will be received there. */
static void hold(Rounds *self, Guest *guest, const uint8_t *data, Py_ssize_t size) {
    if (!size) return;
    Py_ssize_t frame = frame_size(data, size), room = frame > SMALL_BYTES && may_go_on(data, size) ? frame : size;
    uint8_t *held = realloc(guest->held, (size_t)room);
    if (held == NULL) {
        guest->away = guest->lost = 1;
        return;
    }
    memcpy(held, data, (size_t)size);
    guest->held = held;
    guest->held_size = size;
    guest->whole = room > size ? room : 0;
    self->held += guest->whole;
    if (self->held > HELD_BYTES) guest->away = 1;
}

PyDoc_STRVAR(admit_doc,
             "admit(fd, who, hosted, index, alike, producer_id, producer_epoch, begun): visit this one too, who has *begun*\n"
             "to send a frame; False if that cannot be.");

static PyObject *admit(Rounds *self, PyObject *args) {
    int fd;
    long long index, id, epoch;
    PyObject *who, *hosted, *alike;
    const char *begun;
    Py_ssize_t begun_size;
    if (!PyArg_ParseTuple(args, "iOOLOLLy#", &fd, &who, &hosted, &index, &alike, &id, &epoch, &begun, &begun_size))
        return NULL;
    if (self->going || fd < 0) {
        PyErr_SetString(PyExc_RuntimeError, "nobody is admitted in the midst of a round");
        return NULL;
    }
    Guest *guest = calloc(1, sizeof *guest);
    if (guest == NULL) return PyErr_NoMemory();
    if (alike_of(alike, &guest->alike) < 0) {
        free(guest);
        return NULL;
    }
    /* There must be room for the replies to all that can be received: who wants longer ones is no guest. */
    hold(self, guest, (const uint8_t *)begun, begun_size);
    if (guest->alike.reply_size > least_frame(&guest->alike) || !may_go_on((const uint8_t *)begun, begun_size) ||
        guest->away) {
        free_guest(self, guest);
        Py_RETURN_FALSE;
    }
    if (fd >= self->room) {
        int room = fd + 64;
        Guest **more = realloc(self->guests, sizeof *more * (size_t)room);
        if (more == NULL) {
            free_guest(self, guest);
            return PyErr_NoMemory();
        }
        memset(more + self->room, 0, sizeof *more * (size_t)(room - self->room));
        self->guests = more;
        self->room = room;
    }
    if (self->guests[fd] != NULL) remove_guest(self, self->guests[fd]);
    if (epoll_ctl(self->epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN, .data.fd = fd}) < 0) {
        free_guest(self, guest);
        Py_RETURN_FALSE;
    }
    guest->who = Py_NewRef(who);
    guest->hosted = Py_NewRef(hosted);
    guest->alike_tuple = Py_NewRef(alike);
    guest->index = index;
    guest->producer_id = id;
    guest->producer_epoch = epoch;
    guest->fd = fd;
    guest->begun_us = now_us();
    guest->berth = guest->sender = -1;
    self->guests[fd] = guest;
    self->count++;
    Py_RETURN_TRUE;
}

PyDoc_STRVAR(fileno_doc, "fileno(): what can be read when a guest has sent something.");

static PyObject *fileno_of(Rounds *self, PyObject *nothing) {
    (void)nothing;
    return PyLong_FromLong(self->epoll);
}

PyDoc_STRVAR(close_doc, "close(): have no guests any more.");

static PyObject *close_all(Rounds *self, PyObject *nothing) {
    (void)nothing;
    if (self->going || self->touched_count) {
        PyErr_SetString(PyExc_RuntimeError, "the last round is not over");
        return NULL;
    }
    for (int fd = 0; fd < self->room; fd++)
        if (self->guests[fd] != NULL) remove_guest(self, self->guests[fd]);
    if (self->epoll >= 0) close(self->epoll);
    self->epoll = -1;
    Py_RETURN_NONE;
}

static int descriptor(PyObject *number) { return (int)PyLong_AsLong(number); }

PyDoc_STRVAR(dismiss_doc, "dismiss(fd): visit it no more; what it has begun to send.");

static PyObject *dismiss(Rounds *self, PyObject *number) {
    int fd = descriptor(number);
    if (fd == -1 && PyErr_Occurred()) return NULL;
    Guest *guest = guest_at(self, fd);
    if (guest != NULL && self->going) {
        PyErr_SetString(PyExc_RuntimeError, "nobody is dismissed in the midst of a round");
        return NULL;
    }
    PyObject *begun = PyBytes_FromStringAndSize(guest == NULL ? NULL : (char *)guest->held, guest == NULL ? 0 : guest->held_size);
    if (guest != NULL && begun != NULL) remove_guest(self, guest);
    return begun;
}

PyDoc_STRVAR(look_doc,
             "look(fd) -> how often it sent something since the last look, and for how many microseconds the frame is on\n"
             "its way that it has begun.");

static PyObject *look(Rounds *self, PyObject *number) {
    int fd = descriptor(number);
    if (fd == -1 && PyErr_Occurred()) return NULL;
    Guest *guest = guest_at(self, fd);
    int64_t visits = guest == NULL ? 0 : guest->visits;
    if (guest != NULL) guest->visits = 0;
    int64_t begun = guest == NULL || !guest->held_size ? 0 : now_us() - guest->begun_us + 1;
    return Py_BuildValue("(LL)", (long long)visits, (long long)begun);
}

/* What is lent */

/* The berth of *hosted* in this round, or -1 if it has none; *lend* is asked once. */
static int berth_of(Rounds *self, PyObject *hosted, int64_t index, PyObject *lend) {
    for (int each = 0; each < self->berth_count; each++)
        if (self->berths[each].hosted == hosted) return self->berths[each].file == NULL ? -1 : each;
    if (self->berth_count == BERTHS) return -1;
    Berth *berth = &self->berths[self->berth_count];
    PyObject *lent = PyObject_CallFunctionObjArgs(lend, hosted, NULL);
    int64_t syncs, prompt;
    int is_lent = 0;
    memset(berth, 0, sizeof *berth);
    berth->hosted = Py_NewRef(hosted);
    berth->run = -1;
    berth->place.index = index;
    self->berth_count++;
    if (lent != NULL && PyTuple_Check(lent) && PyTuple_Size(lent) == PLACE) {
        PyObject *items[PLACE];
        for (int each = 0; each < PLACE; each++) items[each] = PyTuple_GetItem(lent, each);
        is_lent = limits_of(items[1], &berth->place) == 0 &&
                  ints(items + 2, PLACE - 2,
                       (int64_t *const[]){&berth->place.log_start, &berth->place.offset, &berth->place.position,
                                          &berth->place.indexed_at, &berth->place.newest_ms, &berth->place.latest_ms,
                                          &syncs, &prompt}) == 0;
        if (is_lent) {
            berth->file = Py_NewRef(items[0]);
            berth->syncs = syncs != 0;
            berth->prompt = prompt != 0;
        }
    }
    Py_XDECREF(lent);
    if (PyErr_Occurred()) PyErr_WriteUnraisable(hosted); /* what was taken before must still be told */
    return is_lent ? self->berth_count - 1 : -1;
}

/* What this round knows of the guest as a sender: an index, or -1 if plain Python is to see to it. */
static int sender_in(Rounds *self, const Guest *guest, int berth, PyObject *sequence) {
    for (int each = 0; each < self->sender_count; each++) {
        const Known *known = &self->senders[each];
        if (known->berth == berth && known->sender.id == guest->producer_id)
            return guest->producer_id < 0 || known->sender.epoch == guest->producer_epoch ? each : -1;
    }
    if (self->sender_count == SENDERS) return -1;
    int64_t next = -1;
    if (guest->producer_id >= 0) {
        PyObject *told = PyObject_CallFunction(sequence, "OLL", guest->hosted, (long long)guest->producer_id,
                                               (long long)guest->producer_epoch);
        if (told == NULL || ints(&told, 1, (int64_t *const[]){&next}) < 0) {
            PyErr_WriteUnraisable(guest->hosted);
            next = -1;
        }
        Py_XDECREF(told);
        if (next < 0) return -1;
    }
    self->senders[self->sender_count] =
        (Known){berth, {guest->producer_id, guest->producer_id < 0 ? -1 : guest->producer_epoch, next}};
    return self->sender_count++;
}

/* The run that a batch of *sender* belongs to at *berth*: the last one there, or a new one; NULL if there is no room. */
static Run *run_for(Rounds *self, int berth, const Sender *sender) {
    Berth *at = &self->berths[berth];
    if (at->run >= 0 && self->runs[at->run].sender.id == sender->id) return &self->runs[at->run];
    if (self->run_count == RUNS) return NULL;
    Run *run = &self->runs[self->run_count];
    run->berth = berth;
    run->sender = *sender;
    begin(&run->taken, &at->place);
    at->run = self->run_count++;
    return run;
}

/* Writing and answering */

/* Nothing is to be written to *berth* yet: remember how it is now. */
static void begin_writing(Rounds *self, int berth) {
    self->writing = berth;
    self->before = self->berths[berth];
    self->runs_before = self->run_count;
    self->requests_before = self->requests;
    if (self->before.run >= 0) {
        self->taken_before = self->runs[self->before.run].taken;
        self->notes_before = self->taken_before.notes == NULL ? 0 : PyList_Size(self->taken_before.notes);
    }
}

/* The exception that was raised. */
static PyObject *raised(void) {
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return error;
}

/* The parts could not be written: whoever sent them gets back all that was received, and nobody is answered. */
static void take_back(Rounds *self) {
    self->error = raised();
    self->failed = Py_NewRef(self->before.hosted);
    for (int each = self->runs_before; each < self->run_count; each++) Py_CLEAR(self->runs[each].taken.notes);
    self->run_count = self->runs_before;
    self->requests = self->requests_before;
    if (self->before.run >= 0) {
        Taken *taken = &self->runs[self->before.run].taken;
        PyObject *notes = taken->notes;
        *taken = self->taken_before;
        if (notes != NULL && PyList_SetSlice(notes, self->notes_before, PyList_Size(notes), NULL) < 0) PyErr_Clear();
        taken->notes = notes;
    }
    self->berths[self->writing] = self->before;
    for (int each = self->written_visits; each < self->visit_count; each++) {
        Visit *visit = &self->visits[each];
        visit->replies_end = visit->replies;
        visit->guest->away = 1;
        let_go(self, visit->guest);
        hold(self, visit->guest, self->received + visit->start, visit->end - visit->start);
    }
}

/* Write the parts; 0, or -1 if they are not in the file. */
static int write_out(Rounds *self) {
    int done = 0;
    if (self->part_count) {
        int appended = append_to(self->berths[self->writing].file, self->parts, self->part_count);
        if (appended <= 0) {
            if (!appended) { /* it was closed, and is not for us to open */
                errno = EMFILE;
                PyErr_SetFromErrno(PyExc_OSError);
            }
            take_back(self);
            done = -1;
        } else if (self->berths[self->writing].syncs) {
            self->unsynced = self->writing;
        }
    }
    self->part_count = 0;
    self->writing = -1;
    self->written_visits = self->visit_count;
    return done;
}

/* Whether the disk of *file*, which was just synced, is still to be trusted: another sync may have failed meanwhile. */
static int is_trusted(PyObject *file) {
    PyObject *native = PyObject_GetAttr(file, name_native);
    int is = native != NULL && native != Py_None;
    Py_XDECREF(native);
    if (!is) errno = EIO;
    return is;
}

/* Sync what must be before anybody is told of it; 0, or -1 if the disk cannot be trusted any more.
 *
 * Others may run meanwhile: a file that was written to and is not synced yet keeps its descriptor. */
static int make_safe(Rounds *self) {
    if (self->unsynced < 0) return 0;
    PyObject *file = self->berths[self->unsynced].file, *number = PyObject_GetAttr(file, name_fd);
    long fd = number == NULL ? -1 : PyLong_AsLong(number);
    int64_t began = now_us();
    int result;
    Py_XDECREF(number);
    Py_BEGIN_ALLOW_THREADS
    while ((result = fdatasync((int)fd)) < 0 && errno == EINTR) continue;
    Py_END_ALLOW_THREADS
    int is_safe = result == 0 && is_trusted(file);
    self->synced = self->unsynced;
    self->syncs++;
    self->syncs_us += now_us() - began;
    if (!is_safe) {
        int problem = errno;
        PyErr_Clear();
        errno = problem;
        PyErr_SetFromErrno(PyExc_OSError);
        self->sync_error = raised();
        return -1;
    }
    self->unsynced = -1;
    return 0;
}

/* Send all replies, whose batches are in their files, and forget what was received; whether one could not be sent. */
static int answer_all(Rounds *self) {
    int stuck = 0;
    for (int each = 0; each < self->visit_count; each++) {
        Visit *visit = &self->visits[each];
        Py_ssize_t size = visit->replies_end - visit->replies, sent = 0;
        if (!size || visit->guest == NULL) continue;
        sent = send(visit->guest->fd, self->replies + visit->replies, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent == size) continue;
        if (sent < 0) sent = 0; /* if it has gone, Python will hear of it */
        visit->guest->away = stuck = 1;
        visit->guest->unsent =
            PyBytes_FromStringAndSize((char *)self->replies + visit->replies + sent, size - sent);
        if (visit->guest->unsent == NULL) {
            PyErr_Clear();
            visit->guest->lost = 1;
        }
    }
    self->visit_count = self->written_visits = 0;
    self->received_size = self->copied_size = self->replies_size = 0;
    return stuck;
}

/* Visiting */

/* Add the batch to the parts: small ones are copied one behind the other, of a large one only what is stamped. */
static void add_parts(Rounds *self, const Place *place, const Next *next) {
    Py_ssize_t copied = next->size > COPIED_BYTES ? STAMPED : next->size;
    uint8_t *to = self->copied + self->copied_size;
    struct iovec *last = self->part_count ? &self->parts[self->part_count - 1] : NULL;
    stamp(to, place, next, copied);
    self->copied_size += copied;
    if (last != NULL && (uint8_t *)last->iov_base + last->iov_len == to) last->iov_len += (size_t)copied;
    else self->parts[self->part_count++] = (struct iovec){to, (size_t)copied};
    if (copied < next->size)
        self->parts[self->part_count++] =
            (struct iovec){(uint8_t *)next->batch + copied, (size_t)(next->size - copied)};
}

/* Take the frames from *at to *end that are next; where the first begins that is not. */
static Py_ssize_t take_frames(Rounds *self, Guest *guest, Py_ssize_t at, Py_ssize_t end) {
    Berth *berth = &self->berths[guest->berth];
    Sender *sender = &self->senders[guest->sender].sender;
    Next next;
    while (end - at >= 4) {
        uint32_t length = u32(self->received + at);
        if ((int64_t)length + 4 > end - at || PARTS - self->part_count < 2 || berth->notes >= 2 * NOTES) break;
        if (!next_in(&guest->alike, &berth->place, sender, self->received + at + 4, length, &next)) break;
        Run *run = run_for(self, guest->berth, sender);
        if (run == NULL) break;
        add_parts(self, &berth->place, &next);
        answer(self->replies + self->replies_size, &guest->alike, &berth->place, &next);
        self->replies_size += guest->alike.reply_size;
        int64_t indexed_at = berth->place.indexed_at;
        take_next(&berth->place, sender, &next, &run->taken);
        berth->notes += berth->place.indexed_at != indexed_at;
        self->requests++;
        at += guest->usual = 4 + (Py_ssize_t)length;
    }
    return at;
}

static int touch(Rounds *self, Guest *guest) {
    if (guest->touched) return 0;
    if (self->touched_count == self->touched_room) {
        int room = self->touched_room ? 2 * self->touched_room : 64;
        Guest **more = realloc(self->touched, sizeof *more * (size_t)room);
        if (more == NULL) return -1;
        self->touched = more;
        self->touched_room = room;
    }
    self->touched[self->touched_count++] = guest;
    guest->touched = 1;
    return 0;
}

/* Receive up to *size* bytes of the guest; how many came, 0 if none did, -1 if there will be none. */
static Py_ssize_t receive(const Guest *guest, uint8_t *to, Py_ssize_t size) {
    ssize_t count = recv(guest->fd, to, (size_t)size, MSG_DONTWAIT);
    return count > 0 ? (Py_ssize_t)count : count < 0 && errno == EAGAIN ? 0 : -1;
}

/* How much to receive of the guest: large frames and nothing behind the last, so that the next begins where we receive,
 * or as many small ones as there are. */
static Py_ssize_t appetite(const Rounds *self, const Guest *guest) {
    Py_ssize_t frame = guest->held_size < 4 ? guest->usual : frame_size(guest->held, guest->held_size);
    if (frame <= SMALL_BYTES) return AT_ONCE_BYTES - self->received_size - guest->held_size;
    Py_ssize_t frames = guest->held_size ? 1 : (AT_ONCE_BYTES - self->received_size) / frame;
    return (frames > 1 ? frames : 1) * frame - guest->held_size;
}

/* If a large frame begins at *start*, and is there up to *end*: receive the rest, as long as it comes; up to where. */
static Py_ssize_t stay_with(Rounds *self, const Guest *guest, Py_ssize_t start, Py_ssize_t end) {
    Py_ssize_t frame = frame_size(self->received + start, end - start), more = 0;
    if (frame <= SMALL_BYTES || frame > FRAME_BYTES) return end;
    int64_t now = now_us(), heard = now, ends = now + STAY_LIMIT_US;
    for (; more >= 0 && end - start < frame && now - heard < STAY_US && now < ends; now = now_us()) {
        more = receive(guest, self->received + end, start + frame - end);
        if (more > 0) end += more, heard = now;
    }
    return end;
}

/* Take what the guest has sent. */
static void visit(Rounds *self, Guest *guest, PyObject *lend, PyObject *sequence) {
    Py_ssize_t start = self->received_size, at = start, end = start + guest->held_size;
    if (touch(self, guest) < 0) return; /* it is there when somebody looks next */
    Py_ssize_t size = appetite(self, guest);
    Py_ssize_t more = receive(guest, guest->whole ? guest->held + guest->held_size : self->received + end, size);
    if (more <= 0) {
        if (more < 0) guest->away = 1; /* it has gone: the loop hears that too */
        return;
    }
    int was_begun = guest->held_size > 0;
    guest->visits++;
    if (guest->whole && more < size) {
        guest->held_size += more;
        return;
    }
    if (was_begun) memcpy(self->received + start, guest->held, (size_t)(guest->whole ? guest->whole : guest->held_size));
    let_go(self, guest);
    end = stay_with(self, guest, start, end + more);
    if (guest->berth < 0) guest->berth = berth_of(self, guest->hosted, guest->index, lend);
    if (guest->berth >= 0 && guest->sender < 0) guest->sender = sender_in(self, guest, guest->berth, sequence);
    Py_ssize_t replies = self->replies_size;
    if (guest->sender >= 0 && self->error == NULL) {
        if (self->writing >= 0 && self->writing != guest->berth) write_out(self);
        if (self->writing < 0 && self->error == NULL) begin_writing(self, guest->berth);
    }
    if (guest->sender >= 0 && self->error == NULL) {
        self->prompt |= self->berths[guest->berth].prompt;
        at = take_frames(self, guest, start, end);
        self->full |= self->berths[guest->berth].notes >= NOTES;
    }
    if (guest->sender < 0 || self->error != NULL || !may_go_on(self->received + at, end - at)) guest->away = 1;
    hold(self, guest, self->received + at, end - at);
    if (!was_begun || at > start) guest->begun_us = now_us();
    if (at == start) return; /* nothing of it is needed any more */
    self->visits[self->visit_count++] = (Visit){guest, start, end, replies, self->replies_size};
    self->received_size = end;
}

static int has_room(const Rounds *self) {
    return self->visit_count < VISITS && AT_ONCE_BYTES - self->received_size >= 2 * SMALL_BYTES &&
           PARTS - self->part_count >= PARTS_A_VISIT;
}

/* Whether the loop hears of anything but our guests. */
static int others_wait(const Rounds *self, int loop) {
    struct epoll_event events[2];
    int count = loop < 0 ? 1 : epoll_wait(loop, events, 2, 0);
    return count > 1 || (count == 1 && (loop < 0 || events[0].data.fd != self->epoll));
}

/* Learn who has sent something, unless there are those who were not visited yet; how many there are. */
static int hear(Rounds *self) {
    if (self->heard < self->event_count) return self->event_count - self->heard;
    int count;
    Py_BEGIN_ALLOW_THREADS
    count = epoll_wait(self->epoll, self->events, EVENTS, 0);
    Py_END_ALLOW_THREADS
    self->heard = 0;
    self->event_count = count < 0 ? 0 : count;
    return count;
}

/* Go round until it is time to end. Who is not visited any more is the first next time: all have their turn. */
static void go_round(Rounds *self, int loop, int64_t limit_us, int64_t idle_us, PyObject *lend, PyObject *sequence) {
    int64_t now = now_us(), ends = now + limit_us, quiet = now + idle_us, looked = now;
    for (int leave = 0; !leave;) {
        int count = hear(self);
        now = now_us();
        if (count <= 0) {
            if (count < 0 || now >= quiet || now >= ends || others_wait(self, loop)) return;
            continue;
        }
        while (self->heard < self->event_count) {
            if (self->full || !has_room(self)) {
                write_out(self);
                if (self->error != NULL || self->prompt || make_safe(self) < 0) return;
                leave |= answer_all(self);
                now = now_us();
                if (self->full || now >= ends) return;
            }
            Guest *guest = guest_at(self, self->events[self->heard++].data.fd);
            if (guest == NULL || guest->away) continue;
            visit(self, guest, lend, sequence);
            if (self->error != NULL) break;
            leave |= guest->away; /* the loop is to see to it */
            if ((now = now_us()) >= ends) break;
        }
        if (write_out(self) < 0 || self->error != NULL || self->prompt) return;
        if (self->unsynced >= 0) {
            if (make_safe(self) < 0) return;
            now = now_us();
        }
        leave |= answer_all(self);
        if (self->full || now >= ends) return;
        if (now - looked >= LOOK_US) {
            looked = now;
            leave |= others_wait(self, loop);
        }
        quiet = now + idle_us;
    }
}

/* What Python is told */

/* Those who are given back: (who, what it sent, what is to be sent to it). They are guests no more. What a lost one has
 * sent is None. */
static PyObject *given_back(Rounds *self) {
    PyObject *all = PyList_New(0);
    for (int each = 0; each < self->touched_count; each++) {
        Guest *guest = self->touched[each];
        guest->touched = 0;
        guest->berth = guest->sender = -1;
        if (!guest->away) continue;
        PyObject *sent = guest->lost ? Py_NewRef(Py_None)
                                     : PyBytes_FromStringAndSize((char *)guest->held, guest->held_size);
        PyObject *back = sent == NULL ? NULL
                                      : Py_BuildValue("(ONO)", guest->who, sent,
                                                      guest->unsent == NULL ? Py_None : guest->unsent);
        if (all == NULL || back == NULL || PyList_Append(all, back) < 0) {
            PyErr_Clear();
            shutdown(guest->fd, SHUT_RDWR);
        }
        Py_XDECREF(back);
        remove_guest(self, guest);
    }
    self->touched_count = 0;
    return all;
}

static PyObject *run_told(Rounds *self, Run *run) {
    Taken *taken = &run->taken;
    PyObject *lasts = lasts_of(taken, run->sender.id >= 0);
    if (lasts == NULL) return NULL;
    PyObject *notes = taken->notes == NULL ? PyTuple_New(0) : taken->notes;
    taken->notes = NULL;
    return Py_BuildValue("(O(LLL)LLLL(LL)NN)", self->berths[run->berth].hosted, (long long)run->sender.id,
                         (long long)run->sender.epoch, (long long)run->sender.sequence, (long long)taken->base_offset,
                         (long long)taken->end_offset, (long long)taken->size, (long long)taken->batches,
                         (long long)taken->newest_ms, (long long)taken->newest_offset, notes, lasts);
}

static PyObject *runs_told(Rounds *self) {
    PyObject *all = PyList_New(0);
    for (int each = 0; each < self->run_count; each++) {
        PyObject *run = all == NULL || !self->runs[each].taken.batches ? NULL : run_told(self, &self->runs[each]);
        if (all != NULL && run != NULL && PyList_Append(all, run) < 0) Py_CLEAR(all);
        Py_XDECREF(run);
        Py_CLEAR(self->runs[each].taken.notes);
        if (PyErr_Occurred()) Py_CLEAR(all);
    }
    return all;
}

/* What was synced to its end or should have been: see `go`. */
static PyObject *synced_told(Rounds *self) {
    int is_known = self->synced >= 0 && (self->unsynced < 0 || self->sync_error != NULL);
    if (!is_known) Py_RETURN_NONE; /* what was written since has to be synced anyway */
    return Py_BuildValue("(OLLO)", self->berths[self->synced].hosted, (long long)self->syncs, (long long)self->syncs_us,
                         self->sync_error == NULL ? Py_None : self->sync_error);
}

static void end_round(Rounds *self) {
    for (int each = 0; each < self->berth_count; each++) {
        Py_CLEAR(self->berths[each].hosted);
        Py_CLEAR(self->berths[each].file);
    }
    self->berth_count = self->sender_count = self->run_count = 0;
    Py_CLEAR(self->error);
    Py_CLEAR(self->failed);
    Py_CLEAR(self->sync_error);
    self->going = 0;
}

PyDoc_STRVAR(go_doc,
             "go(loop, limit_us, idle_us, lend, sequence) -> (runs, error, failed, requests, synced): make a round.\n\n"
             "Then `answer` or `forget` must follow, for those who wait. *synced* is what was synced to its end, or\n"
             "should have been: (whose, how often, microseconds, error); None if nothing was, or not all is.");

static PyObject *go(Rounds *self, PyObject *args) {
    int loop;
    long long limit_us, idle_us;
    PyObject *lend, *sequence;
    if (!PyArg_ParseTuple(args, "iLLOO", &loop, &limit_us, &idle_us, &lend, &sequence)) return NULL;
    if (self->going || self->touched_count) {
        PyErr_SetString(PyExc_RuntimeError, "the last round is not over");
        return NULL;
    }
    self->going = 1;
    self->prompt = self->full = 0;
    self->requests = 0;
    self->writing = self->unsynced = self->synced = -1;
    self->syncs = self->syncs_us = 0;
    self->visit_count = self->written_visits = self->part_count = 0;
    self->received_size = self->copied_size = self->replies_size = 0;
    go_round(self, loop, limit_us, idle_us, lend, sequence);
    /* Those whose batches were written before. */
    if (self->error != NULL && !self->prompt && self->sync_error == NULL && make_safe(self) == 0) answer_all(self);
    PyObject *runs = runs_told(self), *synced = runs == NULL ? NULL : synced_told(self);
    PyObject *told = synced == NULL ? NULL
                                    : Py_BuildValue("(OOOLN)", runs, self->error == NULL ? Py_None : self->error,
                                                    self->failed == NULL ? Py_None : self->failed,
                                                    (long long)self->requests, synced);
    Py_XDECREF(runs);
    end_round(self);
    return told;
}

PyDoc_STRVAR(answer_doc, "answer() -> those who are given back, after all who wait were answered.");

static PyObject *answer_now(Rounds *self, PyObject *nothing) {
    (void)nothing;
    answer_all(self);
    return given_back(self);
}

PyDoc_STRVAR(forget_doc, "forget() -> those who are given back; those who wait get no answer.");

static PyObject *forget_all(Rounds *self, PyObject *nothing) {
    (void)nothing;
    for (int each = 0; each < self->visit_count; each++) {
        Visit *visit = &self->visits[each];
        if (visit->guest != NULL && visit->replies_end > visit->replies) visit->guest->away = visit->guest->lost = 1;
        visit->replies_end = visit->replies;
    }
    return answer_now(self, NULL);
}

PyDoc_STRVAR(release_doc, "release() -> all guests, given back.");

static PyObject *release_all(Rounds *self, PyObject *nothing) {
    (void)nothing;
    if (self->going || self->touched_count) {
        PyErr_SetString(PyExc_RuntimeError, "the last round is not over");
        return NULL;
    }
    for (int fd = 0; fd < self->room; fd++)
        if (self->guests[fd] != NULL && touch(self, self->guests[fd]) == 0) self->guests[fd]->away = 1;
    return given_back(self);
}

static PyObject *guest_count(Rounds *self, void *nothing) {
    (void)nothing;
    return PyLong_FromLong(self->count);
}

/* The type */

static void rounds_dealloc(Rounds *self) {
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    for (int fd = 0; fd < self->room; fd++)
        if (self->guests[fd] != NULL) free_guest(self, self->guests[fd]);
    if (self->epoll >= 0) close(self->epoll);
    free(self->guests);
    free(self->touched);
    free(self->received);
    free(self->copied);
    free(self->replies);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *rounds_new(PyTypeObject *type, PyObject *args, PyObject *words) {
    (void)args, (void)words;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Rounds *self = (Rounds *)allocate(type, 0);
    if (self == NULL) return NULL;
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (self->epoll < 0) {
        PyErr_SetFromErrno(PyExc_OSError);
        Py_DECREF(self);
        return NULL;
    }
    self->received = malloc(ROOM_BYTES);
    self->copied = malloc(ROOM_BYTES);
    self->replies = malloc(ROOM_BYTES);
    if (self->received == NULL || self->copied == NULL || self->replies == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static PyMethodDef rounds_methods[] = {
    {"admit", (PyCFunction)admit, METH_VARARGS, admit_doc},
    {"dismiss", (PyCFunction)dismiss, METH_O, dismiss_doc},
    {"look", (PyCFunction)look, METH_O, look_doc},
    {"fileno", (PyCFunction)fileno_of, METH_NOARGS, fileno_doc},
    {"close", (PyCFunction)close_all, METH_NOARGS, close_doc},
    {"go", (PyCFunction)go, METH_VARARGS, go_doc},
    {"answer", (PyCFunction)answer_now, METH_NOARGS, answer_doc},
    {"release", (PyCFunction)release_all, METH_NOARGS, release_doc},
    {"forget", (PyCFunction)forget_all, METH_NOARGS, forget_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef rounds_properties[] = {
    {"guests", (getter)guest_count, NULL, "How many there are.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot rounds_slots[] = {
    {Py_tp_new, rounds_new},
    {Py_tp_dealloc, rounds_dealloc},
    {Py_tp_methods, rounds_methods},
    {Py_tp_getset, rounds_properties},
    {0, NULL},
};

static PyType_Spec rounds_spec = {
    "millstream.gateways.kafka._native.Rounds", sizeof(Rounds), 0, Py_TPFLAGS_DEFAULT, rounds_slots,
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "Clients on lanes, served in rounds.", 0, NULL, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) {
    crc_ready();
    if (append_ready() < 0) return NULL;
    PyObject *module = PyModule_Create(&definition), *type = PyType_FromSpec(&rounds_spec);
    if (module == NULL || type == NULL || PyModule_AddObjectRef(module, "Rounds", type) < 0 ||
        PyModule_AddIntConstant(module, "FRAME_BYTES", FRAME_BYTES) < 0) {
        Py_XDECREF(module);
        Py_XDECREF(type);
        return NULL;
    }
    Py_DECREF(type);
    return module;
}
