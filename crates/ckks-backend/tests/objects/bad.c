/*
 * A backend without encryption, for tests: "ciphertexts" are the slot vectors themselves, so its
 * answers are exact. It keeps every rule of ckks_backend.h, but for one fault that is chosen when
 * it is compiled:
 *
 *     cc -shared -fPIC -I cuda/include -DFAULT_HANG -o hang.so bad.c
 *
 * Without a fault it is the plain object, on which a caller can be tested. -DSLOTS=n and
 * -DCOMPLEX=1 set the slots, -DBOOTSTRAP=1 lets it refresh (it copies).
 *
 *     FAULT_VERSION              speaks another version of the ABI
 *     FAULT_MISSING_SYMBOL       has no ckks_backend_synchronise
 *     FAULT_STDOUT               prints to standard output in every call
 *     FAULT_STDERR               prints 1000 lines to standard error in open
 *     FAULT_STDIN                reads standard input to its end in open
 *     FAULT_HANG                 evaluate never returns
 *     FAULT_EXIT=n               evaluate calls exit(n)
 *     FAULT_SIGNAL=s             evaluate raises the signal s
 *     FAULT_LEAK=m               evaluate takes and touches m MiB, 1 MiB after the other, and keeps
 *                                them; then it never returns
 *     FAULT_FREE_EXIT            free calls exit(0)
 *     FAULT_NAN, FAULT_INFINITY  the last answer's last value is not finite
 *     FAULT_WRONG                the last answer's last value is off by 1
 *     FAULT_SHORT                decrypt does not write the last value
 *     FAULT_FEW                  answers reports one answer less than there is
 *     FAULT_STATUS=n             evaluate returns the status n
 *     FAULT_STATUS_OPEN=n        open returns the status n
 *     FAULT_STATUS_PROBE=n       probe returns the status n
 *     FAULT_NO_CONTEXT           open succeeds without a context
 *     FAULT_NEEDED               texts want SIZE_MAX bytes
 *     FAULT_GROWING              texts want more bytes in each call
 *     FAULT_UNTERMINATED         texts have no zero
 *     FAULT_EMPTY_TEXT           texts are not written
 *     FAULT_JSON                 texts are no JSON
 *     FAULT_UTF8                 messages and texts are not UTF-8
 *     FAULT_LONG_MESSAGE         the message has a million characters
 *     FAULT_NO_MESSAGE           last_error returns a null pointer
 *     FAULT_SLOTS=text           describe says that there are so many slots
 *     FAULT_SCALE=text           describe says that log_scale is this
 */
#include "ckks_backend.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef SLOTS
#define SLOTS 1024
#endif
#ifndef COMPLEX
#define COMPLEX 0
#endif
#ifndef BOOTSTRAP
#define BOOTSTRAP 0
#endif
#define WIDTH ((size_t)SLOTS * (COMPLEX ? 2 : 1))
#define STRING2(text) #text
#define STRING(text) STRING2(text)

struct ckks_backend_context {
    int has_keys;
    unsigned char keys[SLOTS];
    ckks_backend_program program; /* with copies of its arrays */
    double *diagonals;
    uint64_t encoded;
    int prepared;
    double *inputs;
    size_t input_count;
    double *outputs;
    size_t output_count;
};

static char message[256];

static ckks_backend_status fail(ckks_backend_status status, const char *text) {
    snprintf(message, sizeof message, "%s", text);
    return status;
}

static ckks_backend_status bad(const char *text) {
    return fail(CKKS_BACKEND_BAD_ARGUMENT, text);
}

/* The start of every function. */
static void enter(const char *name) {
#ifdef FAULT_STDOUT
    printf("this is %s on standard output\n", name);
    fflush(stdout);
#else
    (void)name;
#endif
}

static ckks_backend_status give(const char *text, char *buffer, size_t capacity, size_t *needed) {
    size_t length = strlen(text) + 1;
    if (!needed)
        return bad("needed is a null pointer");
#ifdef FAULT_NEEDED
    length = SIZE_MAX;
#endif
#ifdef FAULT_GROWING
    static size_t growth;
    *needed = length + growth++;
    if (!buffer)
        return CKKS_BACKEND_OK;
#else
    *needed = length;
    if (!buffer && capacity == 0)
        return CKKS_BACKEND_OK;
    if (!buffer || capacity < length)
        return bad("the buffer is too small");
#endif
#ifndef FAULT_EMPTY_TEXT
    memcpy(buffer, text, strlen(text) + 1);
#endif
#ifdef FAULT_UNTERMINATED
    memset(buffer, 'x', capacity);
#endif
    return CKKS_BACKEND_OK;
}

/* A text of a good object, or what the fault makes of it. */
static const char *text_of(const char *good) {
#if defined FAULT_JSON
    return "{\"name\": \"plain\", \"slots\": }";
#elif defined FAULT_UTF8
    return "{\"name\": \"\xc3\x28\"}";
#else
    return good;
#endif
}

uint32_t ckks_backend_abi_version(void) {
    enter("abi_version");
#ifdef FAULT_VERSION
    return CKKS_BACKEND_ABI_VERSION + 41;
#else
    return CKKS_BACKEND_ABI_VERSION;
#endif
}

ckks_backend_status ckks_backend_info(char *buffer, size_t capacity, size_t *needed) {
    enter("info");
    return give(text_of("{\"name\": \"plain\", \"version\": \"1.0\", \"commit\": \"none\", "
                        "\"presets\": [\"plain\"], \"modes\": []}"),
                buffer, capacity, needed);
}

ckks_backend_status ckks_backend_probe(char *buffer, size_t capacity, size_t *needed) {
    enter("probe");
#ifdef FAULT_STATUS_PROBE
    return fail(FAULT_STATUS_PROBE, "deliberate failure of probe");
#else
    return give("{\"devices\": [{\"name\": \"cpu\", \"memory_bytes\": 0}], \"driver\": \"none\"}",
                buffer, capacity, needed);
#endif
}

ckks_backend_status ckks_backend_open(const char *spec, size_t spec_length,
                                      ckks_backend_context **context) {
    enter("open");
    if (!spec || !context)
        return bad("open: a null pointer");
    if (spec_length == 0 || spec[0] != '{')
        return bad("open: the specification is no JSON object");
#ifdef FAULT_STATUS_OPEN
    return fail(FAULT_STATUS_OPEN, "deliberate failure of open");
#endif
#ifdef FAULT_STDERR
    for (int line = 0; line < 1000; line++)
        fprintf(stderr, "line %d of a talkative library\n", line);
#endif
#ifdef FAULT_STDIN
    while (getchar() != EOF)
        ;
#endif
#ifdef FAULT_NO_CONTEXT
    *context = NULL;
    return CKKS_BACKEND_OK;
#endif
    *context = calloc(1, sizeof **context);
    return *context ? CKKS_BACKEND_OK : fail(CKKS_BACKEND_OUT_OF_MEMORY, "open: no memory");
}

#ifdef FAULT_SLOTS
#define SLOTS_TEXT STRING(FAULT_SLOTS)
#else
#define SLOTS_TEXT STRING(SLOTS)
#endif
#ifdef FAULT_SCALE
#define SCALE_TEXT STRING(FAULT_SCALE)
#else
#define SCALE_TEXT "40"
#endif
#if COMPLEX
#define KIND_TEXT "\"complex\""
#else
#define KIND_TEXT "\"real\""
#endif

ckks_backend_status ckks_backend_describe(ckks_backend_context *context, char *buffer,
                                          size_t capacity, size_t *needed) {
    enter("describe");
    if (!context)
        return bad("describe: a null pointer");
    return give(text_of("{\"device\": \"cpu\", \"kernels\": \"plain doubles\", "
                        "\"slots\": " SLOTS_TEXT ", "
                        "\"slot_kind\": " KIND_TEXT ", "
                        "\"parameters\": {\"name\": \"plain\", \"ring_degree\": 2048, \"q\": [1125899906629633], "
                        "\"p\": [], \"secret\": \"none\", \"error\": \"none\"}, "
                        "\"log_scale\": " SCALE_TEXT ", \"largest\": 0, "
                        "\"notes\": [\"Nothing is encrypted.\"]}"),
                buffer, capacity, needed);
}

ckks_backend_status ckks_backend_keys(ckks_backend_context *context, const int64_t *steps,
                                      size_t count, ckks_backend_key_report *report) {
    enter("keys");
    if (!context || !report || (!steps && count > 0))
        return bad("keys: a null pointer");
    if (context->has_keys)
        return bad("keys: they were made before");
    for (size_t i = 0; i < count; i++)
        if (steps[i] < 1 || steps[i] >= SLOTS || (i > 0 && steps[i] <= steps[i - 1]))
            return bad("keys: a step out of range or order");
    for (size_t i = 0; i < count; i++)
        context->keys[steps[i]] = 1;
    context->has_keys = 1;
    context->keys[0] = 1;
    report->galois_keys = count;
    report->key_bytes = 8 * count;
    return CKKS_BACKEND_OK;
}

static void drop_layer(ckks_backend_context *context) {
    free((void *)context->program.giants);
    free((void *)context->program.terms);
    free(context->diagonals);
    memset(&context->program, 0, sizeof context->program);
    context->diagonals = NULL;
    context->encoded = 0;
    context->prepared = 0;
}

static void *copy(const void *source, size_t bytes) {
    void *made = malloc(bytes);
    return made ? memcpy(made, source, bytes) : NULL;
}

ckks_backend_status ckks_backend_prepare_begin(ckks_backend_context *context,
                                               const ckks_backend_program *program) {
    enter("prepare_begin");
    if (!context || !program || !program->giants || !program->terms)
        return bad("prepare_begin: a null pointer");
    if (program->size != sizeof *program)
        return bad("prepare_begin: another size of the structure");
    if (!context->has_keys)
        return bad("prepare_begin: keys come first");
    for (uint64_t i = 0; i < program->term_count; i++)
        if (program->terms[i].baby_step >= SLOTS || !context->keys[program->terms[i].baby_step])
            return bad("prepare_begin: a baby step without its key");
    for (uint64_t i = 0; i < program->giant_count; i++)
        if (program->giants[i].giant_step >= SLOTS || !context->keys[program->giants[i].giant_step])
            return bad("prepare_begin: a giant step without its key");
    drop_layer(context);
    context->program = *program;
    context->program.giants =
        copy(program->giants, program->giant_count * sizeof *program->giants);
    context->program.terms = copy(program->terms, program->term_count * sizeof *program->terms);
    context->diagonals = calloc(program->diagonals, WIDTH * sizeof(double));
    if (!context->program.giants || !context->program.terms || !context->diagonals)
        return fail(CKKS_BACKEND_OUT_OF_MEMORY, "prepare_begin: no memory");
    return CKKS_BACKEND_OK;
}

ckks_backend_status ckks_backend_prepare_diagonal(ckks_backend_context *context, uint64_t diagonal,
                                                  const double *values, size_t count) {
    enter("prepare_diagonal");
    if (!context || !values)
        return bad("prepare_diagonal: a null pointer");
    if (!context->diagonals || context->prepared || diagonal != context->encoded)
        return bad("prepare_diagonal: out of order");
    if (diagonal >= context->program.diagonals || count != WIDTH)
        return bad("prepare_diagonal: a wrong number or length");
    memcpy(context->diagonals + diagonal * WIDTH, values, WIDTH * sizeof(double));
    context->encoded++;
    return CKKS_BACKEND_OK;
}

ckks_backend_status ckks_backend_prepare_end(ckks_backend_context *context,
                                             ckks_backend_prepare_report *report) {
    enter("prepare_end");
    if (!context || !report)
        return bad("prepare_end: a null pointer");
    if (!context->diagonals || context->encoded != context->program.diagonals)
        return bad("prepare_end: diagonals are missing");
    context->prepared = 1;
    report->prepared_bytes = context->program.diagonals * WIDTH * sizeof(double);
    report->log_scale = 40;
    return CKKS_BACKEND_OK;
}

ckks_backend_status ckks_backend_encrypt(ckks_backend_context *context, const double *values,
                                         size_t count, size_t ciphertexts,
                                         ckks_backend_transfer *report) {
    enter("encrypt");
    if (!context || !values || !report)
        return bad("encrypt: a null pointer");
    if (!context->has_keys || ciphertexts == 0 || count / WIDTH != ciphertexts || count % WIDTH)
        return bad("encrypt: a wrong order, number or length");
    if (context->prepared && ciphertexts % context->program.inputs)
        return bad("encrypt: no whole groups");
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) {
            snprintf(message, sizeof message, "encrypt: value %zu is not finite", i);
            return CKKS_BACKEND_BAD_ARGUMENT;
        }
    free(context->inputs);
    free(context->outputs);
    context->outputs = NULL;
    context->output_count = 0;
    context->inputs = copy(values, count * sizeof *values);
    context->input_count = ciphertexts;
    if (!context->inputs)
        return fail(CKKS_BACKEND_OUT_OF_MEMORY, "encrypt: no memory");
    report->ciphertexts = ciphertexts;
    report->bytes = count * sizeof *values;
    return CKKS_BACKEND_OK;
}

/* out += rotate(giant step, sum of the giant's products) */
static void add_giant(const ckks_backend_context *context, const ckks_backend_giant *giant,
                      const double *inputs, double *out) {
    static double sum[WIDTH];
    memset(sum, 0, sizeof sum);
    for (uint64_t t = giant->first_term; t < giant->first_term + giant->term_count; t++) {
        const ckks_backend_term *term = &context->program.terms[t];
        const double *x = inputs + term->input * WIDTH;
        const double *d = context->diagonals + term->diagonal * WIDTH;
        for (size_t p = 0; p < SLOTS; p++) {
            size_t q = (p + term->baby_step) % SLOTS;
            if (COMPLEX) {
                sum[2 * p] += d[2 * p] * x[2 * q] - d[2 * p + 1] * x[2 * q + 1];
                sum[2 * p + 1] += d[2 * p] * x[2 * q + 1] + d[2 * p + 1] * x[2 * q];
            } else {
                sum[p] += d[p] * x[q];
            }
        }
    }
    size_t parts = COMPLEX ? 2 : 1;
    for (size_t p = 0; p < SLOTS; p++)
        for (size_t part = 0; part < parts; part++)
            out[parts * p + part] += sum[parts * ((p + giant->giant_step) % SLOTS) + part];
}

#ifdef FAULT_LEAK
static void leak(void) {
    const size_t mib = 1 << 20;
    for (size_t i = 0; i < FAULT_LEAK; i++) {
        void *lost = malloc(mib);
        if (lost)
            memset(lost, 1, mib);
    }
    for (;;)
        pause();
}
#endif

static void keep_answers(ckks_backend_context *context, double *out, size_t count) {
#ifdef FAULT_NAN
    out[count * WIDTH - 1] = NAN;
#endif
#ifdef FAULT_INFINITY
    out[count * WIDTH - 1] = INFINITY;
#endif
#ifdef FAULT_WRONG
    out[count * WIDTH - 1] += 1;
#endif
    free(context->outputs);
    context->outputs = out;
    context->output_count = count;
}

ckks_backend_status ckks_backend_evaluate(ckks_backend_context *context) {
    enter("evaluate");
    if (!context)
        return bad("evaluate: a null pointer");
    if (!context->prepared || !context->inputs || context->input_count % context->program.inputs)
        return bad("evaluate: needs a layer and a batch first");
#ifdef FAULT_HANG
    for (;;)
        pause();
#endif
#ifdef FAULT_EXIT
    exit(FAULT_EXIT);
#endif
#ifdef FAULT_SIGNAL
    signal(FAULT_SIGNAL, SIG_DFL);
    raise(FAULT_SIGNAL);
#endif
#ifdef FAULT_LEAK
    leak();
#endif
#ifdef FAULT_STATUS
    return fail(FAULT_STATUS, "deliberate failure of evaluate");
#endif
#ifdef FAULT_UTF8
    return fail(CKKS_BACKEND_LIBRARY_ERROR, "bad \xc3\x28 text");
#endif
#if defined FAULT_LONG_MESSAGE || defined FAULT_NO_MESSAGE
    return CKKS_BACKEND_LIBRARY_ERROR;
#endif
    size_t groups = context->input_count / context->program.inputs;
    size_t count = groups * context->program.outputs;
    double *out = calloc(count, WIDTH * sizeof *out);
    if (!out)
        return fail(CKKS_BACKEND_OUT_OF_MEMORY, "evaluate: no memory");
    for (size_t group = 0; group < groups; group++) {
        const double *inputs = context->inputs + group * context->program.inputs * WIDTH;
        double *outputs = out + group * context->program.outputs * WIDTH;
        for (uint64_t g = 0; g < context->program.giant_count; g++) {
            const ckks_backend_giant *giant = &context->program.giants[g];
            add_giant(context, giant, inputs, outputs + giant->output * WIDTH);
        }
    }
    keep_answers(context, out, count);
    return CKKS_BACKEND_OK;
}

static ckks_backend_status needs_answers(ckks_backend_context *context, const char *name) {
    enter(name);
    if (context && context->outputs)
        return CKKS_BACKEND_OK;
    return bad("it needs answers first");
}

ckks_backend_status ckks_backend_rescale(ckks_backend_context *context) {
    return needs_answers(context, "rescale");
}

ckks_backend_status ckks_backend_bootstrap(ckks_backend_context *context) {
    enter("bootstrap");
    if (!context)
        return bad("bootstrap: a null pointer");
#if BOOTSTRAP
    if (!context->inputs)
        return bad("bootstrap: needs a batch first");
    double *out = copy(context->inputs, context->input_count * WIDTH * sizeof *out);
    if (!out)
        return fail(CKKS_BACKEND_OUT_OF_MEMORY, "bootstrap: no memory");
    keep_answers(context, out, context->input_count);
    return CKKS_BACKEND_OK;
#endif
    return fail(CKKS_BACKEND_UNSUPPORTED, "plain doubles need no bootstrapping");
}

#ifndef FAULT_MISSING_SYMBOL
ckks_backend_status ckks_backend_synchronise(ckks_backend_context *context) {
    enter("synchronise");
    return context ? CKKS_BACKEND_OK : bad("synchronise: a null pointer");
}
#endif

ckks_backend_status ckks_backend_answers(ckks_backend_context *context,
                                         ckks_backend_transfer *report) {
    if (!report)
        return bad("answers: a null pointer");
    ckks_backend_status status = needs_answers(context, "answers");
    if (status != CKKS_BACKEND_OK)
        return status;
    report->ciphertexts = context->output_count;
#ifdef FAULT_FEW
    report->ciphertexts -= 1;
#endif
    report->bytes = context->output_count * WIDTH * sizeof(double);
    return CKKS_BACKEND_OK;
}

ckks_backend_status ckks_backend_decrypt(ckks_backend_context *context, double *values,
                                         size_t count) {
    if (!values)
        return bad("decrypt: a null pointer");
    ckks_backend_status status = needs_answers(context, "decrypt");
    if (status != CKKS_BACKEND_OK)
        return status;
    size_t all = context->output_count * WIDTH;
#ifdef FAULT_FEW
    all -= WIDTH;
#endif
    if (count != all)
        return bad("decrypt: another number of values than the answers have");
#ifdef FAULT_SHORT
    count -= 1;
#endif
    memcpy(values, context->outputs, count * sizeof *values);
    return CKKS_BACKEND_OK;
}

ckks_backend_status ckks_backend_bytes_used(ckks_backend_context *context,
                                            ckks_backend_memory *report) {
    enter("bytes_used");
    if (!context || !report)
        return bad("bytes_used: a null pointer");
    report->device_bytes = 0;
    report->device_peak_bytes = 0;
    return CKKS_BACKEND_OK;
}

const char *ckks_backend_last_error(void) {
    enter("last_error");
#ifdef FAULT_NO_MESSAGE
    return NULL;
#endif
#ifdef FAULT_LONG_MESSAGE
    static char letters[1000001];
    memset(letters, 'm', sizeof letters - 1);
    return letters;
#endif
    return message;
}

void ckks_backend_free(ckks_backend_context *context) {
    enter("free");
#ifdef FAULT_FREE_EXIT
    exit(0);
#endif
    if (!context)
        return;
    drop_layer(context);
    free(context->inputs);
    free(context->outputs);
    free(context);
}
