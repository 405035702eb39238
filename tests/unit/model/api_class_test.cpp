#include "core/model/api_class.h"

#include <gtest/gtest.h>

namespace tilescope {
namespace {

struct Case {
    const char* name;
    ApiClass expected;
};

class ApiClassOf : public ::testing::TestWithParam<Case> {};

TEST_P(ApiClassOf, Name)
{
    EXPECT_EQ(static_cast<int>(classifyApi(GetParam().name)), static_cast<int>(GetParam().expected))
        << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(
    Names, ApiClassOf,
    ::testing::Values(
        Case{"cudaLaunchKernel_v7000", ApiClass::Launch},
        Case{"cudaLaunchKernel_ptsz_v7000", ApiClass::Launch},
        Case{"__cudaLaunchKernel_v13000", ApiClass::Launch},
        Case{"cudaLaunchKernelExC_v11060", ApiClass::Launch},
        Case{"cudaLaunchCooperativeKernel_v9000", ApiClass::Launch}, Case{"cuLaunchKernel", ApiClass::Launch},
        Case{"cuLaunchKernelEx_ptsz", ApiClass::Launch}, Case{"cudaGraphLaunch_v10000", ApiClass::Launch},
        Case{"cuGraphLaunch_ptsz", ApiClass::Launch}, Case{"cudaLaunchHostFunc_v10000", ApiClass::Ignored},
        Case{"cudaMemcpyAsync_v3020", ApiClass::Copy}, Case{"cudaMemcpyAsync_ptsz_v7000", ApiClass::Copy},
        Case{"cudaMemset_ptds_v7000", ApiClass::Copy}, Case{"cuMemcpyHtoDAsync_v2_ptsz", ApiClass::Copy},
        Case{"cuMemsetD32Async", ApiClass::Copy}, Case{"cudaMemcpyBatchAsync_v13000", ApiClass::Copy},
        Case{"cudaMalloc_v3020", ApiClass::Memory}, Case{"cudaMallocAsync_v11020", ApiClass::Memory},
        Case{"cudaFree_v3020", ApiClass::Memory}, Case{"cudaHostAlloc_v3020", ApiClass::Memory},
        Case{"cuMemAlloc_v2", ApiClass::Memory}, Case{"cuMemFree_v2", ApiClass::Memory},
        Case{"cuMemMap", ApiClass::Memory}, Case{"cuMemUnmap", ApiClass::Memory},
        Case{"cudaDeviceSynchronize_v3020", ApiClass::Synchronize},
        Case{"cudaStreamSynchronize_ptsz_v7000", ApiClass::Synchronize},
        Case{"cudaStreamWaitEvent_v3020", ApiClass::Synchronize},
        Case{"cuCtxSynchronize_v2", ApiClass::Synchronize}, Case{"cudaEventRecord_v3020", ApiClass::Event},
        Case{"cuEventRecordWithFlags_ptsz", ApiClass::Event},
        Case{"cudaGetDevice_v3020", ApiClass::CountedOnly},
        Case{"cudaGetLastError_v3020", ApiClass::CountedOnly},
        Case{"cudaPeekAtLastError_v3020", ApiClass::CountedOnly},
        // Look alike and are none of it.
        Case{"cudaGetDeviceCount_v3020", ApiClass::Ignored},
        Case{"cudaGetDeviceProperties_v12000", ApiClass::Ignored},
        Case{"cudaGraphAddMemcpyNode_v10000", ApiClass::Ignored},
        Case{"cudaGraphExecEventRecordNodeSetEvent_v11010", ApiClass::Ignored},
        Case{"cudaFuncGetAttributes_v3020", ApiClass::Ignored},
        Case{"cudaSetDevice_v3020", ApiClass::Ignored}));

TEST(FunctionName, LosesVersionsAndStreamSuffixes)
{
    EXPECT_EQ(functionNameOf("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
    EXPECT_EQ(functionNameOf("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
    EXPECT_EQ(functionNameOf("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync");
    EXPECT_EQ(functionNameOf("__cudaLaunchKernel_v13000"), "__cudaLaunchKernel");
    EXPECT_EQ(functionNameOf("cuLaunchKernel"), "cuLaunchKernel");
}

} // namespace
} // namespace tilescope
