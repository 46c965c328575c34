// SPDX-License-Identifier: (MIT OR GPL-2.0)
/*
 * Runs when a CPU takes a sample, before the kernel writes the sample's record: reads the Python frames of the current
 * thread and writes them, through a PERF_COUNT_SW_BPF_OUTPUT event, into the ring of the sampling event. The frames of a
 * sample therefore lie right before it, and one reader reads both.
 *
 * All reads are bpf_probe_read_user: they never fault pages in and never block, whatever the process does with its
 * memory. Layouts of CPython and of the kernel's task_struct come from user space, in the maps `processes` and
 * `samplers`; this file contains none. User space parses the records in frame_records.py.
 *
 * Compatibility: bounded loops (Linux 5.3), bpf_probe_read_user (5.5). The program itself needs no BTF.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#define SECTION(name) __attribute__((section(name), used))
#define inlined static __inline __attribute__((always_inline))

#define MAX_FRAMES 256
#define MAX_THREADS 128     /* thread states visited in search of the current thread's */
#define FRAME_BYTES 128     /* read of a frame at once */
#define THREAD_WORDS 192    /* of struct pthread, from pthread_self() on */
#define CODE_BYTES 224      /* of a PyCodeObject */
#define PROOF_BYTES 152     /* of a PyCodeObject, up to the fields that tell two apart */
#define NAME_BYTES 256      /* of a str, header included */
#define FILE_BYTES 384
#define TABLE_BYTES 4096    /* of a line table */
#define NEW_CODES 64       /* code objects copied for one sample */
#define PENDING 2          /* exclusive or of a proof: the object is in this sample's list, as in a recursion */
#define SECOND 1000000000ull
#define ABSENT 0xffff

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, __u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static __u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static __u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static __u64 (*bpf_get_current_pid_tgid)(void) = (void *)14;
static long (*bpf_perf_event_output)(void *ctx, void *map, __u64 flags, void *data, __u64 size) = (void *)25;
static __u64 (*bpf_get_current_task)(void) = (void *)35;
static long (*bpf_probe_read_user)(void *to, __u32 size, const void *from) = (void *)112;
static long (*bpf_probe_read_kernel)(void *to, __u32 size, const void *from) = (void *)113;

struct map { __u32 type, key_size, value_size, max_entries, flags; };

/* One per loaded program: where its records go, and the kernel's layout. */
struct sampler {
    __u32 first_output;    /* of `outputs`: the CPU's number is added */
    __u32 capture;         /* second half of the keys of `processes` */
    __u32 generation;      /* distinguishes the code objects that this sampler's reader knows */
    __u32 task_fsbase, task_parent, task_tgid; /* offsets in task_struct */
    __u32 bytes_per_second; /* of code objects on one CPU, of all processes together */
    __u32 unused;
};

struct process_key { __u32 tgid, capture; };

struct process {
    __u64 current;         /* address of _PyRuntime.gilstate.tstate_current (CPython up to 3.11), or 0 */
    __u64 interpreters;    /* address of the head of the list of interpreters */
    __u64 second;          /* start of the second that `bytes_used` counts */
    __u32 bytes_used;
    __u32 bytes_per_second; /* of code objects */
    __u32 bytes_left;      /* of code objects, in the whole capture */
    __u32 generation;      /* echoed in records */
    __u32 slot;            /* distance from pthread_self() to the word with the thread's PyThreadState *; 0: not known */
    __u32 interpreter_next, interpreter_threads; /* offsets in PyInterpreterState */
    __u16 thread_next, thread_id, frame, cframe; /* offsets in PyThreadState; ABSENT, here and below: has none */
    __u16 cframe_frame, cframe_previous;         /* offsets in _PyCFrame, which lies on the C stack */
    __u16 frame_size;                            /* bytes to read of a frame */
    __u16 previous, code, instruction, owner, is_entry;              /* offsets in a frame */
    __u16 code_size, code_name, code_file, code_table, code_line;    /* offsets in PyCodeObject */
    __u8 owner_mask, is_entry_mask;                                  /* 0: frames of this version have none */
    __u8 first_own_owner;                                            /* owners from here on are the interpreter's */
    __u8 unused;
};

struct code_key { __u64 code; __u32 tgid, generation; };

struct frame {
    __u64 code;            /* PyCodeObject *, possibly tagged; bits 56 to 59: owner, bit 60: an entry frame */
    __u64 instruction;
    __u64 mark;            /* the frame's address; up to 3.12 instead: the i-th _PyCFrame * of the thread in the i-th frame */
};

enum { FRAMES, CODE };
enum { COMPLETE, NO_THREAD_STATE, BROKEN, TOO_DEEP, NO_STATE, NO_FRAME };

struct frames_record {
    __u16 kind, count, status, unused;
    __u32 generation, unused_2;
    struct frame frame[MAX_FRAMES];
};

/* Copied when a sample first meets the object: it may be gone when user space reads the ring. */
struct code_record {
    __u16 kind, unused;
    __u32 generation;
    __u32 table_size;      /* whole; at most TABLE_BYTES of it follow */
    __u32 unused_2;
    __u64 code;
    __u8 head[CODE_BYTES];
    __u8 name[NAME_BYTES];
    __u8 file[FILE_BYTES];
    __u8 table[TABLE_BYTES];
};

/* Too large for the stack. One per CPU suffices: the kernel runs no second perf_event program on a CPU meanwhile. */
struct scratch {
    struct frames_record record;
    __u8 head[FRAME_BYTES + 8];
    __u64 thread[THREAD_WORDS];
    __u64 cframe;
    __u64 second;
    __u32 bytes_used;
    __u32 fresh;
    __u64 fresh_code[NEW_CODES];
    struct code_record code;
};

struct map SECTION("maps") processes = { BPF_MAP_TYPE_HASH, sizeof(struct process_key), sizeof(struct process), 2048, 0 };
/* Proofs of the code objects that were sent. */
struct map SECTION("maps") codes = { BPF_MAP_TYPE_LRU_HASH, sizeof(struct code_key), 8, 16384, 0 };
struct map SECTION("maps") scratches = { BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct scratch), 1, 0 };
struct map SECTION("maps") outputs = { BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, 0 /* the loader's */, 0 };
struct map SECTION("maps") samplers = { BPF_MAP_TYPE_ARRAY, 4, sizeof(struct sampler), 1, 0 };

inlined int read(void *to, __u32 size, __u64 from)
{
    return bpf_probe_read_user(to, size, (const void *)from) == 0;
}

inlined __u64 word(struct scratch *s, __u16 at)
{
    return *(__u64 *)(s->head + (at & (FRAME_BYTES - 1)));
}

/* pthread_self() is fsbase in glibc, and CPython stores it in each thread state: the proof of whose it is. */
inlined int belongs(struct process *p, __u64 state, __u64 fsbase)
{
    __u64 id = 0;
    return state && read(&id, 8, state + p->thread_id) && id == fsbase;
}

/* Search the interpreters' lists, and then for the thread-specific slot that holds the found state from now on. */
inlined __u64 search(struct process *p, struct scratch *s, __u64 fsbase, __u16 *status)
{
    __u64 interpreter = 0, state = 0, found = 0;
    int ended = 0;
    if (!read(&interpreter, 8, p->interpreters) || !interpreter ||
        !read(&state, 8, interpreter + p->interpreter_threads))
        return 0;
    for (int i = 0; i < MAX_THREADS; i++) {
        if (!state) {
            if (!read(&interpreter, 8, interpreter + p->interpreter_next) || !interpreter ||
                !read(&state, 8, interpreter + p->interpreter_threads)) {
                ended = 1;
                break;
            }
            continue;
        }
        if (belongs(p, state, fsbase)) {
            found = state;
            break;
        }
        if (!read(&state, 8, state + p->thread_next)) {
            ended = 1;
            break;
        }
    }
    if (!found) {
        if (!ended)
            *status = NO_THREAD_STATE;
        return 0;
    }
    if (bpf_probe_read_user(s->thread, sizeof(s->thread), (const void *)fsbase))
        return found;
    for (int i = 1; i < THREAD_WORDS; i++) {
        if (s->thread[i] == found) {
            p->slot = i * 8;
            break;
        }
    }
    return found;
}

inlined __u64 thread_state(struct process *p, struct scratch *s, __u64 fsbase, __u16 *status)
{
    __u64 state = 0;
    if (p->current && read(&state, 8, p->current) && belongs(p, state, fsbase))
        return state;
    if (p->slot) {
        if (!read(&state, 8, fsbase + p->slot) || !state)
            return 0; /* a thread that never ran Python */
        if (belongs(p, state, fsbase))
            return state;
    }
    return search(p, s, fsbase, status);
}

/* Differs if another code object is at the address now. 0: it cannot be read. */
inlined __u64 proof_of(struct process *p, struct scratch *s, __u64 code)
{
    __u8 *head = s->code.head;
    if (bpf_probe_read_user(head, PROOF_BYTES, (const void *)code))
        return 0;
    return *(__u64 *)(head + (p->code_name & 0xf8)) ^ *(__u64 *)(head + (p->code_file & 0xf8)) << 8 ^
           *(__u64 *)(head + (p->code_table & 0xf8)) << 16 ^ *(__u32 *)(head + (p->code_line & 0xfc)) ^ 1;
}

/* A shorter piece where the object is the last one before an unmapped page. */
inlined void read_text(__u8 *to, __u32 size, __u64 from)
{
    if (bpf_probe_read_user(to, size, (const void *)from) && bpf_probe_read_user(to, 128, (const void *)from) &&
        bpf_probe_read_user(to, 72, (const void *)from))
        *(__u64 *)(to + 16) = 0; /* its length */
}

/* Whether the process, and all processes on this CPU, may send so many bytes of code objects now. */
inlined int is_within_budget(struct process *p, struct scratch *s, struct sampler *sampler, __u32 bytes)
{
    __u64 now = bpf_ktime_get_ns();
    if (now - p->second > SECOND) {
        p->second = now;
        p->bytes_used = 0;
    }
    if (now - s->second > SECOND) {
        s->second = now;
        s->bytes_used = 0;
    }
    if (bytes > p->bytes_left || p->bytes_used + bytes > p->bytes_per_second ||
        s->bytes_used + bytes > sampler->bytes_per_second)
        return 0;
    p->bytes_used += bytes;
    p->bytes_left -= bytes;
    s->bytes_used += bytes;
    return 1;
}

inlined int send_code(struct bpf_perf_event_data *ctx, struct sampler *sampler, struct process *p, struct scratch *s,
                       struct code_key *key)
{
    struct code_record *c = &s->code;
    __u64 proof = proof_of(p, s, key->code);
    __u64 *known = bpf_map_lookup_elem(&codes, key);
    if (!proof)
        return 0;
    if (known && *known == proof)
        return 1;
    __u64 size = 0, table;
    __u32 bytes = p->code_size;
    if (bytes > CODE_BYTES)
        bytes = CODE_BYTES;
    if (bpf_probe_read_user(c->head, bytes, (const void *)key->code))
        return 0;
    table = *(__u64 *)(c->head + (p->code_table & 0xf8));
    if (!read(&size, 8, table + 16)) /* PyVarObject.ob_size */
        return 0;
    c->table_size = size > 0xffffffff ? 0xffffffff : size;
    bytes = size < TABLE_BYTES ? size : TABLE_BYTES;
    asm volatile("" : "+r"(bytes)); /* the verifier sees one bounded variable */
    if (bytes > TABLE_BYTES)
        bytes = TABLE_BYTES;
    if (!is_within_budget(p, s, sampler, sizeof(*c) - TABLE_BYTES + bytes))
        return 0;
    if (bpf_probe_read_user(c->table, bytes, (const void *)(table + 32))) /* PyBytesObject.ob_sval */
        return 0;
    c->kind = CODE;
    c->generation = p->generation;
    c->code = key->code;
    read_text(c->name, NAME_BYTES, *(__u64 *)(c->head + (p->code_name & 0xf8)));
    read_text(c->file, FILE_BYTES, *(__u64 *)(c->head + (p->code_file & 0xf8)));
    __u64 output = sampler->first_output + bpf_get_smp_processor_id();
    if (bpf_perf_event_output(ctx, &outputs, output, c, sizeof(*c) - TABLE_BYTES + bytes))
        return 0;
    bpf_map_update_elem(&codes, key, &proof, BPF_ANY);
    return 1;
}

SECTION("perf_event")
int python_frames(struct bpf_perf_event_data *ctx)
{
    __u32 zero = 0;
    struct sampler *sampler = bpf_map_lookup_elem(&samplers, &zero);
    if (!sampler)
        return 1;
    __u32 tgid = bpf_get_current_pid_tgid() >> 32;
    struct process_key key = { tgid, sampler->capture };
    struct process *p = bpf_map_lookup_elem(&processes, &key);
    if (!p) {
        /* A child that was forked since user space last looked has the layout of its parent. */
        __u64 parent = 0;
        if (bpf_probe_read_kernel(&parent, 8, (void *)(bpf_get_current_task() + sampler->task_parent)) ||
            bpf_probe_read_kernel(&key.tgid, 4, (void *)(parent + sampler->task_tgid)))
            return 1;
        p = bpf_map_lookup_elem(&processes, &key);
        if (!p)
            return 1;
    }
    struct scratch *s = bpf_map_lookup_elem(&scratches, &zero);
    if (!s)
        return 1;

    __u64 fsbase = 0, frame = 0;
    __u32 count = 0;
    __u16 status = COMPLETE;
    bpf_probe_read_kernel(&fsbase, 8, (void *)(bpf_get_current_task() + sampler->task_fsbase));
    __u64 state = thread_state(p, s, fsbase, &status);
    if (!state) {
        if (status == COMPLETE)
            status = NO_STATE; /* a thread that never ran Python, or an interpreter that does not run yet or any more */
        goto write;
    }
    status = BROKEN;
    s->cframe = 0;
    if (p->cframe != ABSENT && !read(&s->cframe, 8, state + p->cframe))
        goto write;
    if (!read(&frame, 8, p->cframe_frame != ABSENT ? s->cframe + p->cframe_frame : state + p->frame))
        goto write;
    if (!frame) {
        status = NO_FRAME; /* C code of a thread that has a state */
        goto write;
    }

    /* What changes from frame to frame lies in memory, where the verifier does not follow it, and the loop has no
     * branches but its exits: the verifier would follow each combination of values and branches 256 times. */
    volatile __u16 *total = &s->record.count, *ending = &s->record.status;
    volatile __u64 *cframe = &s->cframe;
    __u16 frame_size = p->frame_size;
    if (frame_size > FRAME_BYTES)
        frame_size = FRAME_BYTES;
    *total = 0;
    *ending = TOO_DEEP;
    for (int i = 0; i < MAX_FRAMES; i++) {
        if (!frame) {
            *ending = COMPLETE;
            break;
        }
        if (bpf_probe_read_user(s->head, frame_size, (void *)frame)) {
            *ending = BROKEN;
            break;
        }
        __u64 owner = s->head[p->owner & (FRAME_BYTES - 1)] & p->owner_mask;
        __u64 is_entry = s->head[p->is_entry & (FRAME_BYTES - 1)] & p->is_entry_mask;
        volatile struct frame *f = &s->record.frame[i];
        f->code = (word(s, p->code) & 0xffffffffffffffull) | owner << 56 | is_entry << 60;
        f->instruction = word(s, p->instruction);
        f->mark = frame;
        *total = i + 1;
        frame = word(s, p->previous);
    }
    if (p->cframe_previous != ABSENT) {
        for (int i = 0; i < MAX_FRAMES; i++) {
            if (i >= *total || !*cframe)
                break;
            s->record.frame[i].mark = *cframe;
            if (!read(&s->cframe, 8, *cframe + p->cframe_previous))
                *cframe = 0;
        }
    }
    /* Code objects go before the frames that need them. */
    s->fresh = 0;
    /* A process registered anew, as after an exec, has a reader that knows none of them. */
    struct code_key code_key = { 0, tgid, sampler->generation ^ p->generation };
    for (int i = 0; i < MAX_FRAMES; i++) {
        if (i >= *total)
            break;
        /* The interpreter's own frames have no code of the program: their key is 0. Without a branch. */
        __u64 owner = s->record.frame[i].code >> 56 & 15;
        code_key.code = s->record.frame[i].code & 0xfffffffffffff8ull & (__u64)((__s64)(owner - p->first_own_owner) >> 63);
        __u64 proof = proof_of(p, s, code_key.code);
        __u64 *known = bpf_map_lookup_elem(&codes, &code_key);
        __u64 marked = proof ^ PENDING;
        __u32 at = s->fresh;
        if (known && (*known == proof || *known == marked))
            continue;
        if (proof && at < NEW_CODES) {
            s->fresh_code[at] = code_key.code;
            s->fresh = at + 1;
            bpf_map_update_elem(&codes, &code_key, &marked, BPF_ANY);
        }
    }
    for (__u32 i = 0; i < NEW_CODES; i++) {
        if (i >= s->fresh)
            break;
        code_key.code = s->fresh_code[i];
        if (!send_code(ctx, sampler, p, s, &code_key))
            bpf_map_delete_elem(&codes, &code_key); /* the next sample tries again */
    }
    count = *total;
    status = *ending;
write:
    s->record.kind = FRAMES;
    s->record.count = count;
    s->record.status = status;
    s->record.generation = p->generation;
    if (count > MAX_FRAMES)
        return 1;
    __u64 output = sampler->first_output + bpf_get_smp_processor_id();
    bpf_perf_event_output(ctx, &outputs, output, &s->record, 16 + count * sizeof(struct frame));
    return 1; /* 0 would drop the sample */
}

char SECTION("license") _license[] = "Dual MIT/GPL";
