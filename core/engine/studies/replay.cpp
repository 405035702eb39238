#include "core/engine/studies/replay.h"

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/engine/common/failure.h"
#include "core/engine/studies/stopwatch.h"
#include "core/model/element_type.h"

#include <ATen/ATen.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <utility>

namespace tilescope::engine {
namespace {

using at::Tensor;
using Kind = ReplayArgument::Kind;

constexpr std::int64_t kGraphedCalls = 20;

at::ScalarType typeOf(const std::string& word)
{
    if (word.empty())
        return at::kFloat;
    if (const ElementType* known = findElementType(&ElementType::word, word))
        for (std::int8_t i = 0; i < static_cast<std::int8_t>(at::ScalarType::NumOptions); ++i)
            if (known->torch == c10::toString(static_cast<at::ScalarType>(i)))
                return static_cast<at::ScalarType>(i);
    throw Error{.what = "tensors of type '" + word + "' cannot be made", .where = "replay"};
}

/// Makes the inputs of one call.
class Inputs {
public:
    Inputs(const ReplayRequest& request, const Device& device) : request_(request), device_(device.torch()) {}

    /// The arguments for an overload; none if it does not accept them.
    std::optional<std::vector<c10::IValue>> forSchema(const c10::FunctionSchema& schema)
    {
        std::vector<c10::IValue> values;
        std::size_t next = 0;
        for (const c10::Argument& argument : schema.arguments()) {
            std::optional<c10::IValue> value;
            const c10::TypePtr type = argument.type();
            const bool takesTensors = isTensor(*type) || isTensorList(*type);
            if (next < request_.arguments.size() && (request_.isPositional || takesTensors))
                value = valueOf(request_.arguments[next], *type, argument.is_out());
            if (value)
                ++next;
            else if (request_.isPositional && next < request_.arguments.size())
                return {};
            else if (argument.default_value())
                value = argument.default_value();
            else if (type->kind() == c10::TypeKind::OptionalType)
                value = c10::IValue();
            else
                return {};
            values.push_back(std::move(*value));
        }
        return next == request_.arguments.size() ? std::optional(std::move(values)) : std::nullopt;
    }

private:
    static const c10::Type& inner(const c10::Type& type)
    {
        return type.kind() == c10::TypeKind::OptionalType ? *type.containedType(0) : type;
    }
    static bool isTensor(const c10::Type& type) { return inner(type).kind() == c10::TypeKind::TensorType; }
    static bool isTensorList(const c10::Type& type)
    {
        return inner(type).kind() == c10::TypeKind::ListType && isTensor(*inner(type).containedType(0));
    }

    std::optional<c10::IValue> valueOf(const ReplayArgument& argument, const c10::Type& type, bool isResult)
    {
        if (argument.kind == Kind::Literal)
            return literalOf(argument.literal, type);
        if (argument.kind == Kind::Tensor && isTensor(type))
            return tensorOf(argument.tensors.front(), isResult);
        if (argument.kind == Kind::List && isTensorList(type)) {
            c10::List<Tensor> list;
            for (const ReplayTensor& tensor : argument.tensors)
                list.push_back(tensorOf(tensor, isResult));
            return list;
        }
        return {};
    }

    static std::optional<c10::IValue> literalOf(const std::string& text, const c10::Type& type)
    {
        if (text == "none")
            return type.kind() == c10::TypeKind::OptionalType ? std::optional(c10::IValue()) : std::nullopt;
        const c10::Type& wanted = inner(type);
        const auto whole = parseNumber<std::int64_t>(text);
        switch (wanted.kind()) {
        case c10::TypeKind::BoolType:
            return text == "true" || text == "1"    ? std::optional(c10::IValue(true))
                   : text == "false" || text == "0" ? std::optional(c10::IValue(false))
                                                    : std::nullopt;
        case c10::TypeKind::IntType:
        case c10::TypeKind::SymIntType:
        case c10::TypeKind::ScalarTypeType:
            return whole ? std::optional(c10::IValue(*whole)) : std::nullopt;
        case c10::TypeKind::FloatType:
            return numberOf(text);
        case c10::TypeKind::NumberType:
            if (text == "true" || text == "false")
                return c10::IValue(at::Scalar(text == "true"));
            return whole ? std::optional(c10::IValue(at::Scalar(*whole))) : numberOf(text);
        case c10::TypeKind::StringType:
            // Names of dimensions are strings, too; numbers and flags are not strings.
            return isWord(text) ? std::optional(c10::IValue(text)) : std::nullopt;
        case c10::TypeKind::ListType:
            return listOf(text, wanted);
        default:
            return {};
        }
    }

    static bool isWord(const std::string& text)
    {
        return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
               text != "true" && text != "false";
    }

    static std::optional<c10::IValue> numberOf(std::string text)
    {
        if (text.ends_with('.'))
            text += '0';
        const auto number = parseNumber<double>(text);
        return number ? std::optional(c10::IValue(*number)) : std::nullopt;
    }

    /// Parses a list such as `[1, 1]`; a single number is a list of one element.
    static std::optional<c10::IValue> listOf(const std::string& text, const c10::Type& list)
    {
        const c10::TypeKind kind = list.containedType(0)->kind();
        std::vector<std::string> words;
        std::string word;
        for (const char character : text + ",")
            if (character == ',') {
                if (!word.empty())
                    words.push_back(std::exchange(word, {}));
            } else if (character != '[' && character != ']' && character != ' ')
                word += character;
        if (kind == c10::TypeKind::BoolType) {
            c10::List<bool> flags;
            for (const std::string& each : words)
                flags.push_back(each == "true");
            return flags;
        }
        if (kind != c10::TypeKind::IntType && kind != c10::TypeKind::SymIntType)
            return {};
        c10::List<std::int64_t> numbers;
        for (const std::string& each : words) {
            const auto number = parseNumber<std::int64_t>(each);
            if (!number)
                return {};
            numbers.push_back(*number);
        }
        return numbers;
    }

    /// Random values: products of zeros draw less power and run at higher clocks than real ones. Scalar
    /// tensors are on the CPU, unless they are results.
    Tensor tensorOf(const ReplayTensor& wanted, bool isResult) const
    {
        const at::ScalarType type = typeOf(wanted.type);
        const at::Device device = wanted.sizes.empty() && !isResult ? at::Device(at::kCPU) : device_;
        const auto options = at::device(device).dtype(type);
        Tensor tensor = wanted.strides.empty() ? at::empty(wanted.sizes, options)
                                               : at::empty_strided(wanted.sizes, wanted.strides, options);
        if (at::isIntegralType(type, /*includeBool=*/true))
            return tensor.random_(type == at::kBool ? 2 : std::max<std::int64_t>(1, request_.indices));
        const Tensor values =
            at::randn(wanted.sizes, options.dtype(at::isComplexType(type) ? type : at::kFloat));
        // If elements share memory, as in an expanded tensor, only one value remains.
        if (at::has_internal_overlap(tensor) == at::MemOverlap::Yes)
            return tensor.fill_(1);
        return tensor.copy_(values);
    }

    const ReplayRequest& request_;
    const at::Device device_;
};

/// An overload and its arguments.
struct Call {
    c10::OperatorHandle op;
    std::vector<c10::IValue> arguments;

    void operator()() const
    {
        c10::Stack stack(arguments.begin(), arguments.end());
        op.callBoxed(stack);
    }
};

Error whyNoCall(const ReplayRequest& request, bool isKnown, bool changesInputs)
{
    Error error{.what = "no overload of " + request.op + " accepts the recorded arguments",
                .where = "replay",
                .remedy = "choose another op"};
    if (!isKnown)
        error.what = "this LibTorch has no op " + request.op;
    else if (changesInputs)
        error.what = "all overloads of " + request.op + " change their arguments";
    else if (!request.isPositional)
        error.remedy =
            "run with shapes: true, or import a trace of torch.profiler with record_shapes: both hold "
            "the values of arguments";
    return error;
}

/// Whether an overload changes a tensor other than those that receive its results.
bool changesInputs(const c10::FunctionSchema& schema)
{
    return std::ranges::any_of(schema.arguments(), [](const c10::Argument& argument) {
        return argument.alias_info() && argument.alias_info()->isWrite() && !argument.is_out();
    });
}

Call findCall(const ReplayRequest& request, const Device& device)
{
    std::vector<c10::OperatorHandle> results; // overloads that return their result
    std::vector<c10::OperatorHandle> outs;    // overloads that write their result into a given tensor
    bool isKnown = false;
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
        if (name.name != request.op)
            continue;
        isKnown = true;
        const auto op = c10::Dispatcher::singleton().findSchema(name);
        if (op && !changesInputs(op->schema()))
            (op->schema().is_mutable() ? outs : results).push_back(*op);
    }
    Inputs inputs(request, device);
    for (const auto* overloads : {&results, &outs})
        for (const c10::OperatorHandle& op : *overloads)
            if (auto arguments = inputs.forSchema(op.schema()))
                return {op, std::move(*arguments)};
    throw whyNoCall(request, isKnown, results.empty() && outs.empty());
}

/// Captures several calls into a CUDA graph; none if the op cannot be captured.
std::unique_ptr<at::cuda::CUDAGraph> captured(const Call& call, const Device& device)
{
    call(); // library handles and workspaces must exist before a capture
    device.synchronize();
    auto graph = std::make_unique<at::cuda::CUDAGraph>();
    try {
        graph->capture_begin();
        for (std::int64_t i = 0; i < kGraphedCalls; ++i)
            call();
        graph->capture_end();
    } catch (const c10::Error&) {
        return nullptr;
    }
    return graph;
}

} // namespace

ReplayResult replay(const ReplayRequest& request, const Device& device)
{
    const at::NoGradGuard noGrad;
    const DeviceScope scope(device, /*ownStream=*/device.isCuda());
    const auto samples = static_cast<int>(request.samples);
    try {
        const Call call = findCall(request, device);
        ReplayResult result{.device = device.name(), .signature = c10::str(call.op.schema())};
        const auto graph = device.isCuda() ? captured(call, device) : nullptr;
        const std::int64_t callsOfWork = graph ? kGraphedCalls : 1;
        const auto work = graph ? std::function<void()>([&graph] { graph->replay(); })
                                : std::function<void()>([&call] { call(); });
        const Stopwatch::Times times = Stopwatch(device).secondsPerCall(work, samples);
        constexpr double kNanoseconds = 1e9;
        result.calls = times.calls * callsOfWork;
        result.isGraphed = graph != nullptr;
        for (const double seconds : times.seconds)
            result.samplesNs.push_back(seconds * kNanoseconds / static_cast<double>(callsOfWork));
        return result;
    } catch (const c10::Error& error) {
        throw Error{.what = request.op + " failed: " + condensed(error.what_without_backtrace()),
                    .where = "replay",
                    .remedy = {},
                    .kind = ErrorKind::Failure};
    }
}

} // namespace tilescope::engine
