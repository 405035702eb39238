// Modules that cases.cu loads. What their warps wait for differs: alpha_work multiplies and adds, beta_work chases a pointer in shared memory.

#ifdef ALPHA
extern "C" __global__ void alpha_work(float* out, int rounds)
{
    float a[4] = {1, 2, 3, float(threadIdx.x)};
    for (int i = 0; i < rounds; ++i)
        for (float& each : a)
            each = each * 1.0001f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = a[0] + a[1] + a[2] + a[3];
}
#else
extern "C" __global__ void beta_work(float* out, int rounds)
{
    __shared__ int next[256];
    next[threadIdx.x] = (threadIdx.x * 37 + 11) % 256;
    __syncthreads();
    int at = threadIdx.x;
    for (int i = 0; i < rounds; ++i)
        at = next[at];
    out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}
#endif
