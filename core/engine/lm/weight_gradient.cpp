#include "core/engine/lm/weight_gradient.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>

#include <cublasLt.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace tilescope::engine {

namespace {

using at::Tensor;

/// LibTorch has loaded the library, but does not link programs with it.
struct CublasLt {
    decltype(&cublasLtMatmul) matmul = nullptr;
    decltype(&cublasLtMatmulAlgoGetHeuristic) propose = nullptr;
    decltype(&cublasLtMatmulDescCreate) makeProduct = nullptr;
    decltype(&cublasLtMatmulDescDestroy) freeProduct = nullptr;
    decltype(&cublasLtMatmulDescSetAttribute) setProduct = nullptr;
    decltype(&cublasLtMatrixLayoutCreate) makeLayout = nullptr;
    decltype(&cublasLtMatrixLayoutDestroy) freeLayout = nullptr;
    decltype(&cublasLtMatmulPreferenceCreate) makePreference = nullptr;
    decltype(&cublasLtMatmulPreferenceDestroy) freePreference = nullptr;
    decltype(&cublasLtMatmulPreferenceSetAttribute) setPreference = nullptr;

    /// Null if the library or one of its functions is missing.
    static const CublasLt* instance()
    {
        static const std::optional<CublasLt> api = load();
        return api ? &*api : nullptr;
    }

private:
    static std::optional<CublasLt> load()
    {
        const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
        void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library)
            return {};
        CublasLt api;
        const auto find = [library](const char* symbol, auto& function) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
            return function != nullptr;
        };
        const bool isComplete = find("cublasLtMatmul", api.matmul) &&
                                find("cublasLtMatmulAlgoGetHeuristic", api.propose) &&
                                find("cublasLtMatmulDescCreate", api.makeProduct) &&
                                find("cublasLtMatmulDescDestroy", api.freeProduct) &&
                                find("cublasLtMatmulDescSetAttribute", api.setProduct) &&
                                find("cublasLtMatrixLayoutCreate", api.makeLayout) &&
                                find("cublasLtMatrixLayoutDestroy", api.freeLayout) &&
                                find("cublasLtMatmulPreferenceCreate", api.makePreference) &&
                                find("cublasLtMatmulPreferenceDestroy", api.freePreference) &&
                                find("cublasLtMatmulPreferenceSetAttribute", api.setPreference);
        return isComplete ? std::optional(api) : std::nullopt;
    }
};

void check(cublasStatus_t status)
{
    TORCH_CHECK(status == CUBLAS_STATUS_SUCCESS, "cuBLASLt failed with status ", static_cast<int>(status));
}

/// The workspace that a product of LibTorch has on the current stream.
struct Workspace {
    void* memory = nullptr;
    std::size_t bytes = 0;

    static Workspace current()
    {
        void* const handle = at::cuda::getCurrentCUDABlasHandle(); // makes it
        void* const stream = at::cuda::getCurrentCUDAStream().stream();
        auto& workspaces = at::cuda::cublas_handle_stream_to_workspace();
        const std::shared_lock lock(workspaces.mutex);
        const auto found = workspaces.map.find({handle, stream});
        if (found == workspaces.map.end())
            return {};
        return {found->second.get(), at::cuda::getChosenWorkspaceSize()};
    }
};

/// The product in the column-major view of cuBLAS: target^T (n, m) = x^T (n, k) gradient (k, m).
class Product {
public:
    Product(const CublasLt& api, std::int64_t m, std::int64_t n, std::int64_t k) : api_(api)
    {
        check(api_.makeProduct(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
        const cublasOperation_t transposed = CUBLAS_OP_T;
        check(api_.setProduct(product_, CUBLASLT_MATMUL_DESC_TRANSB, &transposed, sizeof(transposed)));
        const auto layout = [this](cudaDataType_t type, std::int64_t rows, std::int64_t columns) {
            cublasLtMatrixLayout_t made = nullptr;
            check(api_.makeLayout(&made, type, static_cast<std::uint64_t>(rows),
                                  static_cast<std::uint64_t>(columns), rows));
            return made;
        };
        x_ = layout(CUDA_R_16BF, n, k);
        gradient_ = layout(CUDA_R_16BF, m, k);
        target_ = layout(CUDA_R_32F, n, m);
    }
    ~Product()
    {
        for (cublasLtMatrixLayout_t layout : {x_, gradient_, target_})
            api_.freeLayout(layout);
        api_.freeProduct(product_);
    }
    Product(const Product&) = delete;
    Product& operator=(const Product&) = delete;

    /// The best by cuBLASLt's estimate first.
    std::vector<cublasLtMatmulAlgo_t> proposals(const Workspace& workspace) const
    {
        constexpr int kMost = 8;
        cublasLtMatmulPreference_t preference = nullptr;
        check(api_.makePreference(&preference));
        check(api_.setPreference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace.bytes,
                                 sizeof(workspace.bytes)));
        std::array<cublasLtMatmulHeuristicResult_t, kMost> results{};
        int count = 0;
        const cublasStatus_t status =
            api_.propose(at::cuda::getCurrentCUDABlasLtHandle(), product_, x_, gradient_, target_, target_,
                         preference, kMost, results.data(), &count);
        api_.freePreference(preference);
        std::vector<cublasLtMatmulAlgo_t> algorithms;
        for (int i = 0; i < count && status == CUBLAS_STATUS_SUCCESS; ++i)
            algorithms.push_back(results[static_cast<std::size_t>(i)].algo);
        return algorithms;
    }

    void run(const cublasLtMatmulAlgo_t& algorithm, float beta, const Tensor& target, const Tensor& gradient,
             const Tensor& x, const Workspace& workspace) const
    {
        const float one = 1;
        check(api_.matmul(at::cuda::getCurrentCUDABlasLtHandle(), product_, &one, x.const_data_ptr(), x_,
                          gradient.const_data_ptr(), gradient_, &beta, target.data_ptr(), target_,
                          target.data_ptr(), target_, &algorithm, workspace.memory, workspace.bytes,
                          at::cuda::getCurrentCUDAStream()));
    }

private:
    const CublasLt& api_;
    cublasLtMatmulDesc_t product_ = nullptr;
    cublasLtMatrixLayout_t x_ = nullptr;
    cublasLtMatrixLayout_t gradient_ = nullptr;
    cublasLtMatrixLayout_t target_ = nullptr;
};

using Shape = std::tuple<c10::DeviceIndex, std::int64_t, std::int64_t, std::int64_t>;

/// Algorithms by shape; none where LibTorch's product is used.
using Choices = std::map<Shape, std::optional<cublasLtMatmulAlgo_t>>;

/// Times the proposals in turn, alone on the device, and returns the one with the shortest time.
std::optional<cublasLtMatmulAlgo_t> fastest(const Product& product, const Tensor& target,
                                            const Tensor& gradient, const Tensor& x,
                                            const Workspace& workspace)
{
    constexpr int kRounds = 3;
    constexpr float kLeastMilliseconds = 1; // of a timing, which has the product several times
    constexpr float kGain = 0.98F;          // below it, another algorithm than the first is taken
    const std::vector<cublasLtMatmulAlgo_t> proposals = product.proposals(workspace);
    if (proposals.empty())
        return {};
    C10_CUDA_CHECK(cudaDeviceSynchronize());
    const auto time = [&](const cublasLtMatmulAlgo_t& algorithm, int count) {
        at::cuda::CUDAEvent begin(cudaEventDefault);
        at::cuda::CUDAEvent end(cudaEventDefault);
        begin.record();
        for (int i = 0; i < count; ++i)
            product.run(algorithm, 0, target, gradient, x, workspace);
        end.record();
        end.synchronize();
        return begin.elapsed_time(end) / static_cast<float>(count);
    };
    std::vector<float> times;
    for (const cublasLtMatmulAlgo_t& algorithm : proposals)
        times.push_back(time(algorithm, 2)); // loads it
    const int count = std::clamp(static_cast<int>(kLeastMilliseconds / std::ranges::min(times)), 1, 50);
    std::ranges::fill(times, std::numeric_limits<float>::infinity());
    for (int round = 0; round < kRounds; ++round)
        for (std::size_t i = 0; i < proposals.size(); ++i)
            times[i] = std::min(times[i], time(proposals[i], count));
    const auto best = std::ranges::min_element(times);
    return proposals[*best < kGain * times.front() ? static_cast<std::size_t>(best - times.begin()) : 0];
}

void computedByLibTorch(Tensor& target, GradientTarget mode, const Tensor& gradient, const Tensor& x)
{
    if (mode == GradientTarget::Set)
        at::mm_out(target, gradient.t(), x, at::kFloat);
    else
        at::addmm_out(target, target, gradient.t(), x, at::kFloat);
}

} // namespace

void tunedWeightGradient(Tensor& target, GradientTarget mode, const Tensor& gradient, const Tensor& x)
{
    const CublasLt* const api = CublasLt::instance();
    if (!api || !target.is_contiguous() || !gradient.is_contiguous() || !x.is_contiguous())
        return computedByLibTorch(target, mode, gradient, x);
    const Shape shape{target.get_device(), target.size(0), target.size(1), x.size(0)};
    static thread_local Choices choices;
    auto found = choices.find(shape);
    const bool mayTime = mode == GradientTarget::Set &&
                         c10::cuda::currentStreamCaptureStatusMayInitCtx() == c10::cuda::CaptureStatus::None;
    if (found == choices.end() && !mayTime)
        return computedByLibTorch(target, mode, gradient, x);
    const Workspace workspace = Workspace::current();
    const Product product(*api, target.size(0), target.size(1), x.size(0));
    if (found == choices.end())
        found = choices.emplace(shape, fastest(product, target, gradient, x, workspace)).first;
    if (!found->second)
        return computedByLibTorch(target, mode, gradient, x);
    product.run(*found->second, mode == GradientTarget::Add ? 1.0F : 0.0F, target, gradient, x, workspace);
}

} // namespace tilescope::engine
