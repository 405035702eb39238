// Needs more registers than there are: the build must fail (TILESCOPE_NO_SPILLS in kernels/CMakeLists.txt).
__global__ void __launch_bounds__(1024) spilling(float* values)
{
    constexpr int kCount = 200;
    float kept[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
        kept[i] = values[i * threadIdx.x];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
        values[i * threadIdx.x + i] = kept[i * 7 % kCount] * kept[i];
    }
}
