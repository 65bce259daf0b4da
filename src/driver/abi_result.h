/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The driver's results, once: names and numbers. */
#ifndef SP_ABI_RESULT_H
#define SP_ABI_RESULT_H

/* Every CUresult that the code or a test names: name, number. */
#define SP_CU_RESULT_MAP(X)                \
    X(SUCCESS, 0)                          \
    X(INVALID_VALUE, 1)                    \
    X(OUT_OF_MEMORY, 2)                    \
    X(NOT_INITIALIZED, 3)                  \
    X(DEINITIALIZED, 4)                    \
    X(DEVICE_UNAVAILABLE, 46)              \
    X(NO_DEVICE, 100)                      \
    X(INVALID_DEVICE, 101)                 \
    X(INVALID_IMAGE, 200)                  \
    X(INVALID_CONTEXT, 201)                \
    X(MAP_FAILED, 205)                     \
    X(UNSUPPORTED_LIMIT, 215)              \
    X(PEER_ACCESS_UNSUPPORTED, 217)        \
    X(FILE_NOT_FOUND, 301)                 \
    X(OPERATING_SYSTEM, 304)               \
    X(INVALID_HANDLE, 400)                 \
    X(ILLEGAL_STATE, 401)                  \
    X(LOSSY_QUERY, 402)                    \
    X(NOT_FOUND, 500)                      \
    X(NOT_READY, 600)                      \
    X(ILLEGAL_ADDRESS, 700)                \
    X(PEER_ACCESS_ALREADY_ENABLED, 704)    \
    X(PEER_ACCESS_NOT_ENABLED, 705)        \
    X(PRIMARY_CONTEXT_ACTIVE, 708)         \
    X(CONTEXT_IS_DESTROYED, 709)           \
    X(HOST_MEMORY_ALREADY_REGISTERED, 712) \
    X(HOST_MEMORY_NOT_REGISTERED, 713)     \
    X(LAUNCH_FAILED, 719)                  \
    X(COOPERATIVE_LAUNCH_TOO_LARGE, 720)   \
    X(NOT_PERMITTED, 800)                  \
    X(NOT_SUPPORTED, 801)                  \
    X(STREAM_CAPTURE_UNSUPPORTED, 900)     \
    X(STREAM_CAPTURE_INVALIDATED, 901)     \
    X(STREAM_CAPTURE_MERGE, 902)           \
    X(STREAM_CAPTURE_UNMATCHED, 903)       \
    X(STREAM_CAPTURE_UNJOINED, 904)        \
    X(STREAM_CAPTURE_ISOLATION, 905)       \
    X(STREAM_CAPTURE_IMPLICIT, 906)        \
    X(CAPTURED_EVENT, 907)                 \
    X(STREAM_CAPTURE_WRONG_THREAD, 908)    \
    X(GRAPH_EXEC_UPDATE_FAILURE, 910)      \
    X(UNKNOWN, 999)

enum {
#define SP_CU_RESULT_ENUM(name, number) SP_CU_##name = number,
    SP_CU_RESULT_MAP(SP_CU_RESULT_ENUM)
#undef SP_CU_RESULT_ENUM
};

#endif /* SP_ABI_RESULT_H */
