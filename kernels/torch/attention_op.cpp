// The torch op tilescope::attention: schema, device kernels, autograd, autocast and shape inference.
#include "kernels/torch/attention_op.h"
#include "kernels/torch/attention_by_rows.h"
#include "kernels/torch/saved_by_attention.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>

namespace tilescope::kernels {

namespace {

using torch::autograd::SavedVariable;
using torch::autograd::Variable;
using torch::autograd::variable_list;
using Output = std::tuple<at::Tensor, at::Tensor>;
using Forward = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using Backward = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

at::TensorOptions statisticsOptions(const at::Tensor& q)
{
    return q.options().dtype(q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
}

/// Tensors of (…, rows) and (…, rows, 2). The latter is empty if backward uses the log-sum-exp.
Output emptyStatistics(const at::Tensor& q, const AttentionOptions& options, bool keep)
{
    const auto sizes = q.sym_sizes();
    std::vector<c10::SymInt> pairs(sizes.begin(), sizes.end());
    pairs.back() = 2;
    const bool wanted = keep && keepsRowStatistics(elementType(q), fp32Mode(options));
    return {at::empty_symint(sizes.slice(0, sizes.size() - 1), statisticsOptions(q)),
            wanted ? at::empty_symint(pairs, statisticsOptions(q)) : at::empty({0}, statisticsOptions(q))};
}

/// A tensor of the sizes of `like`, in its layout if that keeps rows contiguous.
at::Tensor emptyRowsLike(const at::Tensor& like)
{
    return like.sym_size(-1) == 1 || like.sym_stride(-1) == 1
               ? at::empty_like(like)
               : at::empty_like(like, {}, at::MemoryFormat::Contiguous);
}

/// Applies a negative or zero scale to the queries, so that kernels may find the largest score before
/// scaling.
at::Tensor takeSign(const at::Tensor& queries, double scale)
{
    return scale < 0 ? queries.neg() : (scale > 0 ? queries : queries.mul(0));
}
double withoutSign(double scale)
{
    return scale == 0 ? 1 : std::abs(scale);
}

// --- device kernels: below autograd --------------------------------------------------------------

std::int64_t unit(const at::Tensor& tensor)
{
    return kCudaAlignment / tensor.element_size();
}

/// The head dim, padded as the device's kernels require.
std::int64_t deviceHeadDim(const at::Tensor& q)
{
    const std::int64_t headDim = q.size(-1);
    return q.is_cuda() ? (headDim + unit(q) - 1) / unit(q) * unit(q) : headDim;
}

/// Whether the device's kernels can read or write a 4-D tensor without a copy.
bool isAligned(const at::Tensor& tensor, std::int64_t headDim)
{
    if (!tensor.is_cuda()) {
        return true;
    }
    bool aligned = tensor.size(3) == headDim &&
                   reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % kCudaAlignment == 0;
    for (int dim = 0; dim < 3; ++dim) {
        // TMA does not support a stride of 0.
        aligned = aligned && (tensor.size(dim) == 1 ||
                              (tensor.stride(dim) % unit(tensor) == 0 && tensor.stride(dim) > 0));
    }
    return aligned;
}

/// A 4-D input for the device's kernels: the tensor itself, or a copy padded with zeros if its rows are not
/// contiguous or not aligned.
at::Tensor operand(const at::Tensor& tensor, std::int64_t headDim)
{
    const at::Tensor rows = tensor.size(3) == 1 || tensor.stride(3) == 1 ? tensor : tensor.contiguous();
    return isAligned(rows, headDim)
               ? rows
               : at::constant_pad_nd(rows, {0, headDim - rows.size(3)}).contiguous().clone();
}

/// A 4-D output for the device's kernels: the tensor itself, or a padded one that finish() copies to it.
class Target {
public:
    Target(const at::Tensor& tensor, std::int64_t headDim) : tensor_(withHeads(tensor)), target_(tensor_)
    {
        if (!isAligned(tensor_, headDim)) {
            target_ =
                at::empty({tensor_.size(0), tensor_.size(1), tensor_.size(2), headDim}, tensor_.options());
        }
    }
    MutableView view() const { return mutableView(target_); }
    void finish() const
    {
        if (!target_.is_same(tensor_)) {
            tensor_.copy_(target_.narrow(-1, 0, tensor_.size(-1)));
        }
    }

private:
    at::Tensor tensor_, target_;
};

/// Computes forward for checked arguments.
void compute(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionOptions& options,
             const at::Tensor& o, const at::Tensor& logSumExp, const at::Tensor& statistics)
{
    if (q.numel() == 0 || k.numel() == 0) {
        // There are no rows, or rows without keys.
        o.zero_();
        logSumExp.fill_(-INFINITY);
        if (statistics.defined()) {
            statistics.zero_();
        }
        return;
    }
    AttentionProblem problem = attentionProblem(withHeads(q), withHeads(k), options);
    if (!kernelsTake(q, k, problem.scale)) {
        const auto [output, logSumExps, ofRows] = attentionByRows(q, k, v, options);
        o.copy_(output);
        logSumExp.copy_(logSumExps);
        if (statistics.defined() && statistics.numel()) {
            statistics.copy_(ofRows);
        }
        return;
    }
    const std::int64_t headDim = deviceHeadDim(q);
    const at::Tensor queries = operand(takeSign(withHeads(q), problem.scale), headDim);
    const at::Tensor keys = operand(withHeads(k), headDim);
    const at::Tensor values = operand(withHeads(v), headDim);
    problem.scale = withoutSign(problem.scale);
    problem.shape.headDim = static_cast<int>(headDim);
    const Target output(o, headDim);
    const ForwardTensors tensors{
        .q = constView(queries),
        .k = constView(keys),
        .v = constView(values),
        .o = output.view(),
        .logSumExp = logSumExp.mutable_data_ptr(),
        .statistics = statistics.defined() && statistics.numel() ? statistics.mutable_data_ptr() : nullptr};
    q.is_cuda() ? launchForwardCuda(problem, tensors, q.device()) : launchForwardCpu(problem, tensors);
    output.finish();
}

Forward forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                std::optional<double> scale, c10::string_view fp32, bool keepStatistics)
{
    const AttentionOptions options{causal, scale, fp32};
    checkAttentionArguments(q, k, v, options);
    at::Tensor o = emptyRowsLike(q);
    auto [logSumExp, statistics] = emptyStatistics(q, options, keepStatistics);
    compute(q, k, v, options, o, logSumExp, statistics);
    return {o, logSumExp, statistics};
}

/// Without gradients. It saves one dispatch and one tensor compared with attention_forward.
Output attentionOnDevice(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                         std::optional<double> scale, c10::string_view fp32, bool)
{
    const AttentionOptions options{causal, scale, fp32};
    checkAttentionArguments(q, k, v, options);
    at::Tensor o = emptyRowsLike(q);
    at::Tensor logSumExp = at::empty(q.sizes().slice(0, q.dim() - 1), statisticsOptions(q));
    compute(q, k, v, options, o, logSumExp, {});
    return {o, logSumExp};
}

/// Writes the gradients of q, k and v to tensors of their shapes, whose rows are contiguous.
void backwardOut(const at::Tensor& gradO, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const at::Tensor& o, const at::Tensor& statistics, bool causal, double scale,
                 c10::string_view fp32, bool deterministic, const std::optional<at::Tensor>& gradLogSumExp,
                 const at::Tensor& gradQ, const at::Tensor& gradK, const at::Tensor& gradV)
{
    const AttentionOptions options{causal, scale, fp32, deterministic};
    checkAttentionArguments(q, k, v, options);
    TORCH_CHECK_VALUE(gradO.sizes() == q.sizes() && gradO.scalar_type() == q.scalar_type() &&
                          gradO.device() == q.device(),
                      "tilescope::attention_backward: grad_o is ", gradO.scalar_type(), gradO.sizes(),
                      " and q is ", q.scalar_type(), q.sizes(), "; give both alike");
    const at::Tensor gradRows = gradLogSumExp.value_or(at::Tensor());
    TORCH_CHECK_VALUE(!gradRows.defined() || (gradRows.sizes() == q.sizes().slice(0, q.dim() - 1) &&
                                              gradRows.scalar_type() == statisticsOptions(q).dtype() &&
                                              gradRows.device() == q.device()),
                      "tilescope::attention_backward: grad_lse is ", gradRows.scalar_type(), gradRows.sizes(),
                      " and q is ", q.scalar_type(), q.sizes(), "; give one number a row of q");
    const auto isTarget = [](const at::Tensor& target, const at::Tensor& like) {
        return target.sizes() == like.sizes() && target.scalar_type() == like.scalar_type() &&
               target.device() == like.device() && (target.size(-1) == 1 || target.stride(-1) == 1);
    };
    TORCH_CHECK_VALUE(
        isTarget(gradQ, q) && isTarget(gradK, k) && isTarget(gradV, v),
        "tilescope::attention_backward_out: grad_q, grad_k and grad_v must have the shapes of q, k "
        "and v and contiguous rows");
    if (q.numel() == 0 || k.numel() == 0) {
        gradQ.zero_();
        gradK.zero_();
        gradV.zero_();
        return;
    }
    AttentionProblem problem = attentionProblem(withHeads(q), withHeads(k), options);
    if (!kernelsTake(q, k, problem.scale)) {
        const TensorTriple gradients = attentionGradientsByRows(gradO, gradRows, q, k, v, options);
        gradQ.copy_(gradients[0]);
        gradK.copy_(gradients[1]);
        gradV.copy_(gradients[2]);
        return;
    }
    const std::int64_t headDim = deviceHeadDim(q);
    const at::Tensor queries = operand(takeSign(withHeads(q), problem.scale), headDim);
    const at::Tensor keys = operand(withHeads(k), headDim);
    const at::Tensor values = operand(withHeads(v), headDim);
    const at::Tensor output = operand(withHeads(o), headDim);
    // A gradient may have any layout, such as one number expanded to the whole shape.
    const at::Tensor gradOutput = operand(withHeads(gradO), headDim);
    problem.scale = withoutSign(problem.scale);
    problem.shape.headDim = static_cast<int>(headDim);
    const bool exact = keepsRowStatistics(problem.type, problem.fp32);
    const at::Tensor rows = statistics.contiguous();
    TORCH_CHECK_VALUE(rows.numel() == q.numel() / q.size(-1) * (exact ? 2 : 1) &&
                          rows.scalar_type() == statisticsOptions(q).dtype(),
                      "tilescope::attention_backward: the row statistics are ", statistics.scalar_type(),
                      statistics.sizes(), "; give the ones that attention_forward kept");
    const at::Tensor gradOfRows = gradRows.defined() ? gradRows.contiguous() : gradRows;
    const Target targets[] = {{gradQ, headDim}, {gradK, headDim}, {gradV, headDim}};
    const BackwardTensors tensors{.q = constView(queries),
                                  .k = constView(keys),
                                  .v = constView(values),
                                  .o = constView(output),
                                  .gradO = constView(gradOutput),
                                  .logSumExp = exact ? nullptr : rows.const_data_ptr(),
                                  .statistics = exact ? rows.const_data_ptr() : nullptr,
                                  .gradLogSumExp =
                                      gradOfRows.defined() ? gradOfRows.const_data_ptr() : nullptr,
                                  .gradQ = targets[0].view(),
                                  .gradK = targets[1].view(),
                                  .gradV = targets[2].view()};
    q.is_cuda() ? launchBackwardCuda(problem, tensors, q.device()) : launchBackwardCpu(problem, tensors);
    for (const Target& target : targets) {
        target.finish();
    }
    if (scale <= 0) {
        gradQ.copy_(takeSign(gradQ, scale));
    }
}

Backward backward(const at::Tensor& gradO, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const at::Tensor& o, const at::Tensor& statistics, bool causal, double scale,
                  c10::string_view fp32, bool deterministic, const std::optional<at::Tensor>& gradLogSumExp)
{
    Backward gradients{emptyRowsLike(q), emptyRowsLike(k), emptyRowsLike(v)};
    const auto& [gradQ, gradK, gradV] = gradients;
    backwardOut(gradO, q, k, v, o, statistics, causal, scale, fp32, deterministic, gradLogSumExp, gradQ,
                gradK, gradV);
    return gradients;
}

// --- shape inference -----------------------------------------------------------------------------

Forward forwardMeta(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                    std::optional<double> scale, c10::string_view fp32, bool keepStatistics)
{
    const AttentionOptions options{causal, scale, fp32};
    checkAttentionArguments(q, k, v, options);
    auto [logSumExp, statistics] = emptyStatistics(q, options, keepStatistics);
    return {emptyRowsLike(q), logSumExp, statistics};
}

Backward backwardMeta(const at::Tensor&, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const at::Tensor&, const at::Tensor&, bool, double, c10::string_view, bool,
                      const std::optional<at::Tensor>&)
{
    return {emptyRowsLike(q), emptyRowsLike(k), emptyRowsLike(v)};
}

// --- the public op -------------------------------------------------------------------------------

using ForwardSignature = Forward(const at::Tensor&, const at::Tensor&, const at::Tensor&, bool,
                                 std::optional<double>, c10::string_view, bool);
using BackwardSignature = Backward(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                   const at::Tensor&, const at::Tensor&, bool, double, c10::string_view, bool,
                                   const std::optional<at::Tensor>&);

using AttentionSignature = Output(const at::Tensor&, const at::Tensor&, const at::Tensor&, bool,
                                  std::optional<double>, c10::string_view, bool);

template <class Signature> c10::TypedOperatorHandle<Signature> findOp(const char* name)
{
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

Forward callForward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                    std::optional<double> scale, c10::string_view fp32, bool keepStatistics)
{
    static const auto op = findOp<ForwardSignature>("tilescope::attention_forward");
    return op.call(q, k, v, causal, scale, fp32, keepStatistics);
}

Output callAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                     std::optional<double> scale, c10::string_view fp32, bool deterministic)
{
    static const auto op = findOp<AttentionSignature>("tilescope::attention");
    return op.call(q, k, v, causal, scale, fp32, deterministic);
}

Output attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                 std::optional<double> scale, c10::string_view fp32, bool)
{
    auto [o, logSumExp, statistics] = callForward(q, k, v, causal, scale, fp32, false);
    return {o, logSumExp};
}

// --- autograd ------------------------------------------------------------------------------------

/// One call of the op in autograd's graph, like those of PyTorch's own operators. torch::autograd::Function would refuse
/// the transforms of torch.func. Saves only q, k, v, o and the log-sum-exp (exact precisions: the row statistics instead).
class AttentionBackward final : public torch::autograd::Node {
public:
    AttentionBackward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const AttentionOptions& options)
        : causal_(options.causal), tf32_(options.fp32 == "tf32"), deterministic_(options.deterministic),
          scale_(options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))))),
          q_(q, /*is_output=*/false), k_(k, /*is_output=*/false), v_(v, /*is_output=*/false)
    {
        set_next_edges(torch::autograd::collect_next_edges(q, k, v));
    }

    std::string name() const override { return std::string(kAttentionNode); }

    /// Of the outputs, after they belong to this node.
    /// \param statistics  of the rows; empty if backward uses the log-sum-exp
    void saveOutputs(const Output& outputs, const at::Tensor& statistics)
    {
        const auto& [o, logSumExp] = outputs;
        const bool exact = statistics.dim() > 1;
        o_ = SavedVariable(o, /*is_output=*/true);
        rows_ = SavedVariable(exact ? statistics : logSumExp, /*is_output=*/!exact);
    }

    /// q, k, v, o and the row statistics or the log-sum-exp.
    std::vector<at::Tensor> saved()
    {
        const auto self = shared_from_this();
        return {q_.unpack(), k_.unpack(), v_.unpack(), o_.unpack(self), rows_.unpack(self)};
    }

    variable_list apply(variable_list&& gradients) override
    {
        static const auto op = findOp<BackwardSignature>("tilescope::attention_backward");
        const Variable& gradLogSumExp = gradients[1];
        if (!gradients[0].defined() && !gradLogSumExp.defined()) {
            return variable_list(3);
        }
        const std::scoped_lock lock(mutex_);
        const std::vector<at::Tensor> tensors = saved();
        const Variable gradO = gradients[0].defined() ? gradients[0] : at::zeros_like(tensors[3]);
        auto [gradQ, gradK, gradV] =
            op.call(gradO, tensors[0], tensors[1], tensors[2], tensors[3], tensors[4], causal_, scale_,
                    tf32_ ? "tf32" : "ieee", deterministic_,
                    gradLogSumExp.defined() ? std::optional<at::Tensor>(gradLogSumExp) : std::nullopt);
        return {gradQ, gradK, gradV};
    }

    void release_variables() override
    {
        const std::scoped_lock lock(mutex_);
        for (SavedVariable* saved : {&q_, &k_, &v_, &o_, &rows_}) {
            saved->reset_data();
        }
    }

private:
    const bool causal_, tf32_, deterministic_;
    const double scale_;
    SavedVariable q_, k_, v_, o_, rows_;
};

bool hasTangent(const at::Tensor& tensor)
{
    return tensor._fw_grad(/*level=*/0).defined();
}

Output attentionAutograd(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                         std::optional<double> scale, c10::string_view fp32, bool deterministic);

/// Forward mode: the outputs of the primal values, with tangents of their own.
Output attentionForwardMode(const TensorTriple& inputs, bool causal, std::optional<double> scale,
                            c10::string_view fp32, bool deterministic)
{
    TensorTriple primals;
    TensorTriple tangents;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        primals[i] = inputs[i]._fw_primal(/*level=*/0);
        tangents[i] = inputs[i]._fw_grad(/*level=*/0);
    }
    auto [o, logSumExp] =
        attentionAutograd(primals[0], primals[1], primals[2], causal, scale, fp32, deterministic);
    const bool empty = o.numel() == 0 || primals[1].numel() == 0;
    const auto [oTangent, logSumExpTangent] =
        empty ? Output{at::zeros_like(o), at::zeros_like(logSumExp)}
              : attentionTangentsByRows(primals, tangents, {causal, scale, fp32, deterministic});
    o._set_fw_grad(oTangent, /*level=*/0, /*is_inplace_op=*/false);
    logSumExp._set_fw_grad(logSumExpTangent, /*level=*/0, /*is_inplace_op=*/false);
    return {o, logSumExp};
}

Output attentionAutograd(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                         std::optional<double> scale, c10::string_view fp32, bool deterministic)
{
    if (hasTangent(q) || hasTangent(k) || hasTangent(v)) {
        return attentionForwardMode({q, k, v}, causal, scale, fp32, deterministic);
    }
    if (!at::GradMode::is_enabled() || !(q.requires_grad() || k.requires_grad() || v.requires_grad())) {
        at::AutoDispatchBelowADInplaceOrView below;
        return callAttention(q, k, v, causal, scale, fp32, deterministic);
    }
    const std::shared_ptr<AttentionBackward> node(
        new AttentionBackward(q, k, v, {causal, scale, fp32, deterministic}), torch::autograd::deleteNode);
    const auto [o, logSumExp, statistics] = [&] {
        at::AutoDispatchBelowADInplaceOrView below;
        return callForward(q, k, v, causal, scale, fp32, /*keepStatistics=*/true);
    }();
    torch::autograd::set_history(variable_list{o, logSumExp}, node);
    node->saveOutputs({o, logSumExp}, statistics);
    return {o, logSumExp};
}

// --- autocast ------------------------------------------------------------------------------------

template <c10::DeviceType Device, c10::DispatchKey Key>
Output attentionAutocast(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                         std::optional<double> scale, c10::string_view fp32, bool deterministic)
{
    const c10::impl::ExcludeDispatchKeyGuard noAutocast(Key);
    const at::ScalarType type = at::autocast::get_autocast_dtype(Device);
    return callAttention(at::autocast::cached_cast(type, q, Device),
                         at::autocast::cached_cast(type, k, Device),
                         at::autocast::cached_cast(type, v, Device), causal, scale, fp32, deterministic);
}

} // namespace

TORCH_LIBRARY(tilescope, library)
{
    library.def(
        "attention(Tensor q, Tensor k, Tensor v, bool causal, float? scale=None, *, str fp32=\"ieee\", "
        "bool deterministic=False) -> (Tensor o, Tensor lse)",
        {at::Tag::pt2_compliant_tag});
    library.def("attention_forward(Tensor q, Tensor k, Tensor v, bool causal, float? scale, str fp32, "
                "bool keep_statistics) -> (Tensor o, Tensor lse, Tensor statistics)",
                {at::Tag::pt2_compliant_tag});
    library.def(
        "attention_backward(Tensor grad_o, Tensor q, Tensor k, Tensor v, Tensor o, Tensor statistics, "
        "bool causal, float scale, str fp32, bool deterministic, Tensor? grad_lse=None) "
        "-> (Tensor grad_q, Tensor grad_k, Tensor grad_v)",
        {at::Tag::pt2_compliant_tag});
    // Into views of one packed gradient, for a packed qkv projection.
    library.def(
        "attention_backward_out(Tensor grad_o, Tensor q, Tensor k, Tensor v, Tensor o, Tensor statistics, "
        "bool causal, float scale, str fp32, bool deterministic, Tensor? grad_lse, *, Tensor(a!) grad_q, "
        "Tensor(b!) grad_k, Tensor(c!) grad_v) -> ()");
}

TORCH_LIBRARY_IMPL(tilescope, CompositeExplicitAutograd, library)
{
    library.impl("attention", &attention);
}

TORCH_LIBRARY_IMPL(tilescope, CPU, library)
{
    library.impl("attention", &attentionOnDevice);
    library.impl("attention_forward", &forward);
    library.impl("attention_backward", &backward);
    library.impl("attention_backward_out", &backwardOut);
}

TORCH_LIBRARY_IMPL(tilescope, CUDA, library)
{
    library.impl("attention", &attentionOnDevice);
    library.impl("attention_forward", &forward);
    library.impl("attention_backward", &backward);
    library.impl("attention_backward_out", &backwardOut);
}

TORCH_LIBRARY_IMPL(tilescope, Meta, library)
{
    library.impl("attention_forward", &forwardMeta);
    library.impl("attention_backward", &backwardMeta);
}

TORCH_LIBRARY_IMPL(tilescope, Autograd, library)
{
    library.impl("attention", &attentionAutograd);
    library.impl("attention_forward", torch::autograd::autogradNotImplementedFallback());
    library.impl("attention_backward", torch::autograd::autogradNotImplementedFallback());
    library.impl("attention_backward_out", torch::autograd::autogradNotImplementedFallback());
}

TORCH_LIBRARY_IMPL(tilescope, Autocast, library)
{
    library.impl("attention", &attentionAutocast<at::kCUDA, c10::DispatchKey::Autocast>);
}

TORCH_LIBRARY_IMPL(tilescope, AutocastCPU, library)
{
    library.impl("attention", &attentionAutocast<at::kCPU, c10::DispatchKey::AutocastCPU>);
}

std::optional<std::vector<at::Tensor>> savedByAttention(torch::autograd::Node& node)
{
    auto* attention = dynamic_cast<AttentionBackward*>(&node);
    if (!attention)
        return {};
    return attention->saved();
}

} // namespace tilescope::kernels
