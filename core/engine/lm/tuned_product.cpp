#include "core/engine/lm/tuned_product.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/record_function.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>

#include <cublasLt.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <type_traits>
#include <vector>

namespace tilescope::engine {

namespace {

using at::Tensor;

/// The functions of cuBLASLt, looked up in the library that LibTorch has loaded: programs are not linked with
/// it.
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

/// The workspace of LibTorch's products on the current stream.
struct Workspace {
    void* memory = nullptr;
    std::size_t bytes = 0;

    static Workspace current()
    {
        void* const handle = at::cuda::getCurrentCUDABlasHandle(); // creates the workspace
        void* const stream = at::cuda::getCurrentCUDAStream().stream();
        auto& workspaces = at::cuda::cublas_handle_stream_to_workspace();
        const std::shared_lock lock(workspaces.mutex);
        const auto found = workspaces.map.find({handle, stream});
        if (found == workspaces.map.end())
            return {};
        return {found->second.get(), at::cuda::getChosenWorkspaceSize()};
    }
};

/// How cuBLAS reads a matrix: by columns, in which a matrix stored by rows is its transpose.
struct Factor {
    cudaDataType_t type = CUDA_R_16BF;
    std::int64_t rows = 0; ///< as stored by columns
    std::int64_t columns = 0;
    bool isTransposed = false; ///< relative to what the product in cuBLAS's view needs

    /// \return  the transpose of `matrix`, or nothing if it is stored with gaps
    static std::optional<Factor> of(const Tensor& matrix)
    {
        const auto type = matrix.scalar_type() == at::kFloat ? CUDA_R_32F : CUDA_R_16BF;
        if (matrix.is_contiguous())
            return Factor{type, matrix.size(1), matrix.size(0), false};
        if (matrix.t().is_contiguous())
            return Factor{type, matrix.size(0), matrix.size(1), true};
        return {};
    }
    auto operator<=>(const Factor&) const = default;
};

/// A product as cuBLAS sees it: target^T (n, m) = b^T (n, k) a^T (k, m), each stored by columns.
struct Shape {
    c10::DeviceIndex device = 0;
    Factor target;
    Factor a;
    Factor b;

    auto operator<=>(const Shape&) const = default;
};

class Product {
public:
    Product(const CublasLt& api, const Shape& shape) : api_(api)
    {
        check(api_.makeProduct(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
        const auto operation = [this](cublasLtMatmulDescAttributes_t which, const Factor& factor) {
            const cublasOperation_t value = factor.isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
            check(api_.setProduct(product_, which, &value, sizeof(value)));
        };
        operation(CUBLASLT_MATMUL_DESC_TRANSA, shape.b);
        operation(CUBLASLT_MATMUL_DESC_TRANSB, shape.a);
        const auto layout = [this](const Factor& factor) {
            cublasLtMatrixLayout_t made = nullptr;
            check(api_.makeLayout(&made, factor.type, static_cast<std::uint64_t>(factor.rows),
                                  static_cast<std::uint64_t>(factor.columns), factor.rows));
            return made;
        };
        b_ = layout(shape.b);
        a_ = layout(shape.a);
        target_ = layout(shape.target);
    }
    ~Product()
    {
        for (cublasLtMatrixLayout_t layout : {a_, b_, target_})
            api_.freeLayout(layout);
        api_.freeProduct(product_);
    }
    Product(const Product&) = delete;
    Product& operator=(const Product&) = delete;

    /// The algorithms that cuBLASLt proposes, best estimate first.
    std::vector<cublasLtMatmulAlgo_t> proposals(const Workspace& workspace) const
    {
        constexpr int kMost = 8;
        cublasLtMatmulPreference_t preference = nullptr;
        check(api_.makePreference(&preference));
        check(api_.setPreference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace.bytes,
                                 sizeof(workspace.bytes)));
        // Partial sums of a split reduction stay in fp32 where the target is bf16.
        const std::uint32_t reductions =
            CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
        check(api_.setPreference(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
                                 sizeof(reductions)));
        std::array<cublasLtMatmulHeuristicResult_t, kMost> results{};
        int count = 0;
        const cublasStatus_t status =
            api_.propose(at::cuda::getCurrentCUDABlasLtHandle(), product_, b_, a_, target_, target_,
                         preference, kMost, results.data(), &count);
        api_.freePreference(preference);
        std::vector<cublasLtMatmulAlgo_t> algorithms;
        for (int i = 0; i < count && status == CUBLAS_STATUS_SUCCESS; ++i)
            algorithms.push_back(results[static_cast<std::size_t>(i)].algo);
        return algorithms;
    }

    void run(const cublasLtMatmulAlgo_t& algorithm, float beta, const Tensor& target, const Tensor& a,
             const Tensor& b, const Workspace& workspace) const
    {
        const float one = 1;
        check(api_.matmul(at::cuda::getCurrentCUDABlasLtHandle(), product_, &one, b.const_data_ptr(), b_,
                          a.const_data_ptr(), a_, &beta, target.data_ptr(), target_, target.data_ptr(),
                          target_, &algorithm, workspace.memory, workspace.bytes,
                          at::cuda::getCurrentCUDAStream()));
    }

private:
    const CublasLt& api_;
    cublasLtMatmulDesc_t product_ = nullptr;
    cublasLtMatrixLayout_t a_ = nullptr;
    cublasLtMatrixLayout_t b_ = nullptr;
    cublasLtMatrixLayout_t target_ = nullptr;
};

/// Algorithms by shape; none: use LibTorch's product.
using Choices = std::map<Shape, std::optional<cublasLtMatmulAlgo_t>>;

/// Times the proposals in turn, alone on the device, and returns the one with the shortest time.
std::optional<cublasLtMatmulAlgo_t> fastest(const Product& product, const Tensor& target, const Tensor& a,
                                            const Tensor& b, const Workspace& workspace)
{
    constexpr int kRounds = 3;
    constexpr float kLeastMilliseconds = 1; // length of a timing, which repeats the product
    constexpr float kGain = 0.98F;          // largest share of the first one's time for a replacement
    const std::vector<cublasLtMatmulAlgo_t> proposals = product.proposals(workspace);
    if (proposals.empty())
        return {};
    C10_CUDA_CHECK(cudaDeviceSynchronize());
    const auto time = [&](const cublasLtMatmulAlgo_t& algorithm, int count) {
        at::cuda::CUDAEvent begin(cudaEventDefault);
        at::cuda::CUDAEvent end(cudaEventDefault);
        begin.record();
        for (int i = 0; i < count; ++i)
            product.run(algorithm, 0, target, a, b, workspace);
        end.record();
        end.synchronize();
        return begin.elapsed_time(end) / static_cast<float>(count);
    };
    std::vector<float> times;
    for (const cublasLtMatmulAlgo_t& algorithm : proposals)
        times.push_back(time(algorithm, 2)); // loads the kernel
    const int count = std::clamp(static_cast<int>(kLeastMilliseconds / std::ranges::min(times)), 1, 50);
    std::ranges::fill(times, std::numeric_limits<float>::infinity());
    for (int round = 0; round < kRounds; ++round)
        for (std::size_t i = 0; i < proposals.size(); ++i)
            times[i] = std::min(times[i], time(proposals[i], count));
    const auto best = std::ranges::min_element(times);
    return proposals[*best < kGain * times.front() ? static_cast<std::size_t>(best - times.begin()) : 0];
}

void multiplyByLibTorch(Tensor& target, ProductTarget how, const Tensor& a, const Tensor& b)
{
    const bool isSet = how == ProductTarget::Set;
    const at::ScalarType type = target.scalar_type();
    if (type == a.scalar_type())
        isSet ? at::mm_out(target, a, b) : target.addmm_(a, b);
    else if (target.is_cuda())
        isSet ? at::mm_out(target, a, b, type) : at::addmm_out(target, target, a, b, type);
    else
        multiplyByLibTorch(target, how, a.to(type), b.to(type));
}

/// Nothing if multiplyInto() does not time the product.
std::optional<Shape> shapeOf(const Tensor& target, const Tensor& a, const Tensor& b)
{
    if (!target.is_cuda() || a.scalar_type() != at::kBFloat16 || !target.is_contiguous())
        return {};
    const auto left = Factor::of(a);
    const auto right = Factor::of(b);
    if (!left || !right)
        return {};
    return Shape{target.get_device(), *Factor::of(target), *left, *right};
}

/// \return  false if LibTorch has to compute the product
bool multiplyByFastest(Tensor& target, ProductTarget how, const Tensor& a, const Tensor& b)
{
    const CublasLt* const api = CublasLt::instance();
    const auto shape = shapeOf(target, a, b);
    if (!api || !shape)
        return false;
    static thread_local Choices choices;
    auto found = choices.find(*shape);
    const bool mayTime = how == ProductTarget::Set &&
                         c10::cuda::currentStreamCaptureStatusMayInitCtx() == c10::cuda::CaptureStatus::None;
    if (found == choices.end() && !mayTime)
        return false;
    const Workspace workspace = Workspace::current();
    const Product product(*api, *shape);
    if (found == choices.end())
        found = choices.emplace(*shape, fastest(product, target, a, b, workspace)).first;
    if (!found->second)
        return false;
    const std::array<c10::IValue, 2> factors{a, b};
    RECORD_FUNCTION("tilescope::mm", c10::ArrayRef<const c10::IValue>(factors.data(), factors.size()));
    product.run(*found->second, how == ProductTarget::Add ? 1.0F : 0.0F, target, a, b, workspace);
    return true;
}

} // namespace

void multiplyInto(Tensor& target, ProductTarget how, const Tensor& a, const Tensor& b, ProductChoice choice)
{
    if (choice == ProductChoice::LibTorch || !multiplyByFastest(target, how, a, b))
        multiplyByLibTorch(target, how, a, b);
}

} // namespace tilescope::engine
