#include "kernels/torch/attention_op.h"

#include <ATen/ATen.h>

#include <cmath>

namespace tilescope::kernels {

namespace {

// Errors contain numbers as text: streaming a number ends the process if GCC 13 built this library and
// another compiler built PyTorch.
std::string textOf(const c10::SymInt& size)
{
    const std::optional<std::int64_t> known = size.maybe_as_int();
    return known ? std::to_string(*known) : "(symbolic)";
}

std::string sizesOf(const at::Tensor& tensor)
{
    std::string text;
    for (const c10::SymInt& size : tensor.sym_sizes())
        text += (text.empty() ? "[" : ", ") + textOf(size);
    return text + "]";
}

void checkOne(const char* name, const at::Tensor& tensor, const at::Tensor& q)
{
    TORCH_CHECK_VALUE(tensor.defined(), "tilescope::attention: ", name, " is not a tensor");
    TORCH_CHECK_VALUE(tensor.dim() == 3 || tensor.dim() == 4, "tilescope::attention: ", name, " has ",
                      std::to_string(tensor.dim()),
                      " dimensions; give (batch, heads, rows, head dim) or (batch, rows, head dim)");
    TORCH_CHECK_VALUE(tensor.dim() == q.dim(), "tilescope::attention: ", name, " has ",
                      std::to_string(tensor.dim()), " dimensions and q has ", std::to_string(q.dim()),
                      "; give q, k and v alike");
    TORCH_CHECK_VALUE(tensor.scalar_type() == q.scalar_type(), "tilescope::attention: ", name, " is ",
                      tensor.scalar_type(), " and q is ", q.scalar_type(), "; give q, k and v in one type");
    TORCH_CHECK_VALUE(tensor.device() == q.device(), "tilescope::attention: ", name, " is on ",
                      tensor.device(), " and q is on ", q.device(), "; put q, k and v on one device");
    TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, "tilescope::attention: ", name, " is ",
                      tensor.layout(), "; give a dense tensor");
}

void checkType(const at::Tensor& q)
{
    const at::ScalarType type = q.scalar_type();
    const bool known = type == at::kFloat || type == at::kHalf || type == at::kBFloat16 ||
                       (type == at::kDouble && !q.is_cuda());
    TORCH_CHECK_VALUE(known, "tilescope::attention: q is ", type, " on ", q.device(),
                      "; give bfloat16, float16 or float32 (on a CPU float64 too)");
}

void checkSizes(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v)
{
    TORCH_CHECK_VALUE(k.sym_sizes() == v.sym_sizes(), "tilescope::attention: k has sizes ", sizesOf(k),
                      " and v has sizes ", sizesOf(v), "; give k and v in one shape");
    TORCH_CHECK_VALUE(q.sym_size(0) == k.sym_size(0), "tilescope::attention: q has batch ",
                      textOf(q.sym_size(0)), " and k has batch ", textOf(k.sym_size(0)),
                      "; give q, k and v in one batch size");
    TORCH_CHECK_VALUE(q.sym_size(-1) == k.sym_size(-1), "tilescope::attention: q has head dim ",
                      textOf(q.sym_size(-1)), " and k has head dim ", textOf(k.sym_size(-1)),
                      "; give q, k and v in one head dim");
    TORCH_CHECK_VALUE(q.sym_size(-1) >= 1 && q.sym_size(-1) <= kMaxHeadDim, "tilescope::attention: head dim ",
                      textOf(q.sym_size(-1)), " is not possible; give 1 to ", std::to_string(kMaxHeadDim));
    if (q.dim() == 4 && q.sym_size(1) != k.sym_size(1)) {
        TORCH_CHECK_VALUE(k.sym_size(1) >= 1 && q.sym_size(1) % k.sym_size(1) == 0,
                          "tilescope::attention: ", textOf(q.sym_size(1)), " query heads cannot share ",
                          textOf(k.sym_size(1)), " key heads; give a multiple");
    }
}

} // namespace

void checkAttentionArguments(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const AttentionOptions& options)
{
    checkOne("q", q, q);
    checkOne("k", k, q);
    checkOne("v", v, q);
    checkType(q);
    checkSizes(q, k, v);
    TORCH_CHECK_VALUE(!options.scale || std::isfinite(*options.scale), "tilescope::attention: scale is ",
                      options.scale.value_or(0), "; give a finite number");
    TORCH_CHECK_VALUE(options.fp32 == "ieee" || options.fp32 == "tf32", "tilescope::attention: fp32 is '",
                      options.fp32, "'; give 'ieee' or 'tf32'");
}

at::Tensor withHeads(const at::Tensor& tensor)
{
    return tensor.dim() == 3 ? tensor.unsqueeze(1) : tensor;
}

ElementType elementType(const at::Tensor& tensor)
{
    switch (tensor.scalar_type()) {
    case at::kDouble:
        return ElementType::Float64;
    case at::kHalf:
        return ElementType::Float16;
    case at::kBFloat16:
        return ElementType::BFloat16;
    default:
        return ElementType::Float32;
    }
}

Fp32Mode fp32Mode(const AttentionOptions& options)
{
    return options.fp32 == "tf32" ? Fp32Mode::Tf32 : Fp32Mode::Ieee;
}

AttentionProblem attentionProblem(const at::Tensor& q, const at::Tensor& k, const AttentionOptions& options)
{
    AttentionProblem problem;
    problem.shape = {.batch = q.size(0),
                     .queryHeads = q.size(1),
                     .keyHeads = k.size(1),
                     .queries = q.size(2),
                     .keys = k.size(2),
                     .headDim = static_cast<int>(q.size(3))};
    problem.type = elementType(q);
    problem.fp32 = fp32Mode(options);
    problem.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(3))));
    problem.causal = options.causal;
    problem.deterministic = options.deterministic;
    return problem;
}

ConstView constView(const at::Tensor& tensor)
{
    return {tensor.const_data_ptr(), tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

MutableView mutableView(const at::Tensor& tensor)
{
    return {tensor.mutable_data_ptr(), tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

} // namespace tilescope::kernels
