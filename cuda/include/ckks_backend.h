/*
 * The C ABI of a CKKS library under test.
 *
 * A shim exports these functions from a shared object, libckks_backend_NAME.so, and implements
 * them with one library. The program that measures opens the object in a process of its own and
 * drives every library in the same way: it decides the packing, the library only encrypts slot
 * vectors, rotates, multiplies by plaintext slot vectors, adds, and decrypts.
 *
 * Order of calls. ckks_backend_abi_version, _info and _probe may come at any time and take no
 * context. Then
 *
 *     open -> describe -> keys -> prepare_begin, prepare_diagonal (all, ascending), prepare_end
 *          -> any number of: encrypt -> evaluate -> rescale -> answers -> decrypt
 *          -> free
 *
 * or, to check bootstrapping, open -> keys (no steps) -> encrypt -> bootstrap -> answers ->
 * decrypt -> free. A call out of order returns CKKS_BACKEND_BAD_ARGUMENT and changes nothing.
 *
 * Failure. Every function but abi_version, last_error and free returns a status. No C++ exception
 * leaves a function, and no function ends the process: what a library would abort or exit on is
 * checked before it is called. After a failure ckks_backend_last_error() says what was wrong; the
 * context can be freed, and unless the status is BAD_ARGUMENT or UNSUPPORTED it must not be used
 * for anything else. Outputs are written only on success.
 *
 * Threads. One thread makes all calls, and one context exists at a time: several libraries keep
 * state of the whole process. A process opens one context in its life.
 *
 * Ownership. Buffers belong to the caller and are not kept after a call returns. Strings are
 * UTF-8; those passed in have a length and need no terminating zero. Functions that return text
 * write at most `capacity` bytes, a terminating zero among them, and store in `needed` the bytes
 * that all of it needs with its zero; where that is more than `capacity` they write nothing and
 * return CKKS_BACKEND_BAD_ARGUMENT. Both may be called with a null buffer and capacity 0 to learn
 * `needed`, in which case they return CKKS_BACKEND_OK.
 *
 * Slots. A ciphertext has n slots (describe: "slots"). A vector of slots is n doubles where
 * "slot_kind" is "real", and 2n doubles, real part before imaginary part for each slot, where it
 * is "complex". Values are finite; a NaN or an infinity is a bad argument that names its index.
 * A rotation by step s, 1 <= s < n, moves to slot p what was in slot (p + s) mod n.
 *
 * Time. On return from evaluate, rescale and bootstrap work may still be under way on a device;
 * ckks_backend_synchronise waits for all of it and reports what went wrong there. All other
 * functions return only once their work is done.
 */
#ifndef CKKS_BACKEND_H
#define CKKS_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CKKS_BACKEND_API __attribute__((visibility("default")))
#else
#define CKKS_BACKEND_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a function, a structure or a meaning changes. */
#define CKKS_BACKEND_ABI_VERSION 1u

typedef int32_t ckks_backend_status;

/* Done. */
#define CKKS_BACKEND_OK 0
/* The caller is wrong: a null pointer, a length, an order, a value out of range. Nothing changed. */
#define CKKS_BACKEND_BAD_ARGUMENT 1
/* The library, or these parameters, cannot do this. Nothing changed. */
#define CKKS_BACKEND_UNSUPPORTED 2
/* No device, or no driver for it. */
#define CKKS_BACKEND_NO_DEVICE 3
/* Memory of the host or of the device ran out. */
#define CKKS_BACKEND_OUT_OF_MEMORY 4
/* The device reported an error. */
#define CKKS_BACKEND_DEVICE_FAULT 5
/* The library reported an error of its own: an exception, a failed check. */
#define CKKS_BACKEND_LIBRARY_ERROR 6
/* A fault of the shim. */
#define CKKS_BACKEND_INTERNAL 7

/* Everything that belongs to one opened library: parameters, both parties' keys, prepared weights,
 * ciphertexts. */
typedef struct ckks_backend_context ckks_backend_context;

/* What generating keys made. */
typedef struct {
    /* Rotation keys. */
    uint64_t galois_keys;
    /* Bytes of all evaluation keys as they would be sent; 0 where the library cannot tell. */
    uint64_t key_bytes;
} ckks_backend_key_report;

/* One product: an input, rotated, times a diagonal. */
typedef struct {
    /* Input ciphertext of a group, 0 <= input < inputs. */
    uint32_t input;
    /* Rotation step of the input, 0 <= baby_step < n; 0 is no rotation. */
    uint32_t baby_step;
    /* Diagonal that multiplies it, 0 <= diagonal < diagonals. Each is used by exactly one term. */
    uint64_t diagonal;
} ckks_backend_term;

/* One giant step of one output: the sum of some products, rotated. */
typedef struct {
    /* Output ciphertext of a group that the rotated sum is added to, 0 <= output < outputs. */
    uint32_t output;
    /* Rotation step of the sum, 0 <= giant_step < n; 0 is no rotation. */
    uint32_t giant_step;
    /* Its products are terms[first_term .. first_term + term_count]; at least one. */
    uint64_t first_term;
    uint64_t term_count;
} ckks_backend_giant;

/* A layer for one group of vectors, as baby steps and giant steps:
 *
 *     output[o] = sum over giants g of o:  rotate(g.giant_step,
 *                     sum over terms t of g:  diagonal[t] * rotate(t.baby_step, input[t.input]))
 *
 * Diagonals already stand as this formula needs them (rotated against the giant step). Giants come
 * by ascending output, then ascending step, each step once per output. Terms come in the order of
 * the giants, within a giant by ascending input, then ascending baby step. An output without
 * giants is zero; at least one output has some. */
typedef struct {
    /* sizeof(ckks_backend_program). */
    size_t size;
    uint32_t inputs;
    uint32_t outputs;
    uint64_t diagonals;
    const ckks_backend_giant *giants;
    uint64_t giant_count;
    const ckks_backend_term *terms;
    uint64_t term_count;
} ckks_backend_program;

/* What preparing a layer made. */
typedef struct {
    /* Bytes of the encoded diagonals in the memory that evaluation reads them from. */
    uint64_t prepared_bytes;
    /* log2 of the scale that diagonals were encoded at. */
    double log_scale;
} ckks_backend_prepare_report;

/* Ciphertexts of one batch. */
typedef struct {
    /* How many. */
    uint64_t ciphertexts;
    /* Bytes of all of them as they would be sent; 0 where the library cannot tell. */
    uint64_t bytes;
} ckks_backend_transfer;

/* Memory in use now, in bytes; 0 where it cannot be told. */
typedef struct {
    /* On the device, by this process. */
    uint64_t device_bytes;
    /* The most of it since open. */
    uint64_t device_peak_bytes;
} ckks_backend_memory;

/* The version of this header that the object was built with. Called first; never fails. */
CKKS_BACKEND_API uint32_t ckks_backend_abi_version(void);

/* The library, as a JSON object, without touching a device:
 *
 *     "name"     as given to --lib, for example "openfhe"
 *     "version"  of the library, as it reports it itself where it does
 *     "commit"   of the library that the shim was written against
 *     "presets"  list of the parameter sets that open knows; the first is the default
 *     "modes"    list of the modes that open knows, the first is the default; empty if none
 */
CKKS_BACKEND_API ckks_backend_status ckks_backend_info(char *buffer, size_t capacity,
                                                       size_t *needed);

/* The devices, as a JSON object: {"devices": [{"name": "...", "memory_bytes": 0}], "driver": "..."}.
 * A library for the CPU names one device, "cpu". Asks the device's runtime before anything of the
 * library is touched.
 *
 * CKKS_BACKEND_NO_DEVICE where there is none; the message says what the runtime answered. */
CKKS_BACKEND_API ckks_backend_status ckks_backend_probe(char *buffer, size_t capacity,
                                                        size_t *needed);

/* Makes a context from a JSON object. Unknown fields are a bad argument that names the field.
 *
 *     "params"     parameter set by name, or null for the default
 *     "mode"       mode by name, or null for the default
 *     "device"     index into the list of probe
 *     "threads"    threads that the library may use on the CPU, at least 1
 *     "bootstrap"  whether the context is for ckks_backend_bootstrap
 *
 * Randomness comes from the library's own generator; keys differ from run to run. */
CKKS_BACKEND_API ckks_backend_status ckks_backend_open(const char *spec, size_t spec_length,
                                                       ckks_backend_context **context);

/* The context, as a JSON object:
 *
 *     "device"       "cpu", or the GPU's name with its driver
 *     "kernels"      how the library computes, in a few words: its build, its path
 *     "slots"        n
 *     "slot_kind"    "real" or "complex"
 *     "parameters"   {"name", "ring_degree", "q": [primes], "p": [primes], "secret", "error"}:
 *                    the moduli of the largest ciphertext the keys are for, and of key switching
 *     "log_scale"    log2 of the scale that inputs are encoded at
 *     "largest"      largest |value| of an answer's slot that does not overflow; 0 if not known
 *     "notes"        list of sentences for the report: what differs from other libraries
 */
CKKS_BACKEND_API ckks_backend_status ckks_backend_describe(ckks_backend_context *context,
                                                           char *buffer, size_t capacity,
                                                           size_t *needed);

/* Makes the secret key and the evaluation keys: one Galois key for each step, and what else the
 * parameters need. Steps ascend without duplicates, 1 <= step < n; they may be none. Once only. */
CKKS_BACKEND_API ckks_backend_status ckks_backend_keys(ckks_backend_context *context,
                                                       const int64_t *steps, size_t count,
                                                       ckks_backend_key_report *report);

/* Starts a layer; the one before is dropped. Every step of the program must have its key. */
CKKS_BACKEND_API ckks_backend_status
ckks_backend_prepare_begin(ckks_backend_context *context, const ckks_backend_program *program);

/* Encodes the next diagonal. They come in ascending order, each once; `count` doubles. */
CKKS_BACKEND_API ckks_backend_status ckks_backend_prepare_diagonal(ckks_backend_context *context,
                                                                   uint64_t diagonal,
                                                                   const double *values,
                                                                   size_t count);

/* Ends a layer: all its diagonals have come. */
CKKS_BACKEND_API ckks_backend_status
ckks_backend_prepare_end(ckks_backend_context *context, ckks_backend_prepare_report *report);

/* Encodes and encrypts a batch; the one before is dropped. `values` has `ciphertexts` slot vectors,
 * group by group and in each group input by input, so `ciphertexts` is a multiple of the layer's
 * inputs (of 1 in a context for bootstrapping); `count` doubles in all. */
CKKS_BACKEND_API ckks_backend_status ckks_backend_encrypt(ckks_backend_context *context,
                                                          const double *values, size_t count,
                                                          size_t ciphertexts,
                                                          ckks_backend_transfer *report);

/* Evaluates the layer on all groups of the batch; the inputs stay as they are, so this may be
 * called again. */
CKKS_BACKEND_API ckks_backend_status ckks_backend_evaluate(ckks_backend_context *context);

/* Divides the answers by the weights' scale, and drops what moduli are not needed to send them.
 * Nothing to do for a library whose evaluation has already done so. */
CKKS_BACKEND_API ckks_backend_status ckks_backend_rescale(ckks_backend_context *context);

/* Refreshes every ciphertext of the batch: brought to the lowest level, then bootstrapped. The
 * results are the answers.
 *
 * CKKS_BACKEND_UNSUPPORTED where the library or the parameters cannot. */
CKKS_BACKEND_API ckks_backend_status ckks_backend_bootstrap(ckks_backend_context *context);

/* Waits for the device, and reports what failed there since the last call. */
CKKS_BACKEND_API ckks_backend_status ckks_backend_synchronise(ckks_backend_context *context);

/* How many answers there are: groups times outputs of the layer. */
CKKS_BACKEND_API ckks_backend_status ckks_backend_answers(ckks_backend_context *context,
                                                          ckks_backend_transfer *report);

/* Decrypts and decodes all answers, group by group and in each group output by output; `count`
 * doubles in all. Values that are not finite are passed on as they are: the caller's gate decides. */
CKKS_BACKEND_API ckks_backend_status ckks_backend_decrypt(ckks_backend_context *context,
                                                          double *values, size_t count);

/* Memory in use. */
CKKS_BACKEND_API ckks_backend_status ckks_backend_bytes_used(ckks_backend_context *context,
                                                             ckks_backend_memory *report);

/* What went wrong in the last call that failed: one sentence, or a library's message unchanged.
 * Never null; empty before any failure. Valid until the next call. */
CKKS_BACKEND_API const char *ckks_backend_last_error(void);

/* Frees a context and all that belongs to it; null is allowed. */
CKKS_BACKEND_API void ckks_backend_free(ckks_backend_context *context);

#ifdef __cplusplus
}
#endif

#endif
