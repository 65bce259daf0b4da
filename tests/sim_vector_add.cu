// SPDX-License-Identifier: LGPL-2.1-or-later
// A program as nvcc compiles it, with launches, a variable and a managed one. On simulated devices
// functions of the host stand in for its kernels; they are found by the kernels' mangled names.
#include <cstdio>

#include <starpool/kernel.h>

__device__ float offset;
__managed__ int n_runs;

__global__ void vectorAdd(const float *a, const float *b, float *c, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;

    if (i < n)
        c[i] = a[i] + b[i] + offset;
}

__global__ void fill(float *values, float value, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;

    if (i < n)
        values[i] = value;
}

static void *offset_place;

static void run_add(const struct starpool_kernel_launch *launch)
{
    const float *a = *(const float **)launch->args[0];
    const float *b = *(const float **)launch->args[1];
    float *c = *(float **)launch->args[2];
    int n = *(const int *)launch->args[3];

    for (int i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

static void run_fill(const struct starpool_kernel_launch *launch)
{
    float *values = *(float **)launch->args[0];

    for (int i = 0; i < *(const int *)launch->args[2]; i++)
        values[i] = *(const float *)launch->args[1];
}

static bool register_stand_ins()
{
    static const size_t add[] = {sizeof(float *), sizeof(float *), sizeof(float *), sizeof(int)};
    static const size_t set[] = {sizeof(float *), sizeof(float), sizeof(int)};

    return starpool_model_add_kernel("_Z9vectorAddPKfS0_Pfi", add, 4, run_add) == STARPOOL_OK &&
           starpool_model_add_kernel("_Z4fillPffi", set, 3, run_fill) == STARPOOL_OK;
}

static bool run(int n)
{
    size_t size = n * sizeof(float);
    float *a, *b, *c, *host = new float[n], zero = 0;
    bool is_right = true;

    if (cudaMalloc(&a, size) || cudaMalloc(&b, size) || cudaMallocManaged(&c, size))
        return false;
    if (cudaMemcpyToSymbol(offset, &zero, sizeof(zero)) ||
        cudaGetSymbolAddress(&offset_place, offset))
        return false;
    for (int i = 0; i < n; i++)
        host[i] = (float)i;
    cudaMemcpy(a, host, size, cudaMemcpyHostToDevice);
    fill<<<(n + 255) / 256, 256>>>(b, 2.5f, n);
    vectorAdd<<<(n + 255) / 256, 256>>>(a, b, c, n);
    if (cudaDeviceSynchronize() != cudaSuccess || cudaGetLastError() != cudaSuccess)
        return false;
    for (int i = 0; i < n; i++)
        is_right = is_right && c[i] == (float)i + 2.5f;
    n_runs++;
    cudaFree(a), cudaFree(b), cudaFree(c);
    delete[] host;
    return is_right && n_runs == 1;
}

int main()
{
    cudaDeviceProp props;

    if (!register_stand_ins() || cudaGetDeviceProperties(&props, 0) != cudaSuccess)
        return 2;
    std::printf("%s: %s\n", props.name, run(1000) ? "right" : "wrong");
    return 0;
}
