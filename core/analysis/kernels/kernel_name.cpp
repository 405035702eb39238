#include "core/analysis/kernels/kernel_name.h"

#include "core/analysis/kernels/mangled_name.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tilescope::analysis {

namespace {

using Views = std::vector<std::string_view>;

std::string_view trimmed(std::string_view text)
{
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

/// The brackets that are open while a name is read. `>` and `<` between parentheses may be operators,
/// `(width>0)`: there, only brackets that follow a name open template arguments.
class Brackets {
public:
    /// Reads the next character.
    void read(char c)
    {
        if (c == '<') {
            if (last_ != ')' && last_ != ' ' && last_ != '<')
                open_ += c;
        } else if (c == '(' || c == '{') {
            open_ += c;
        } else if (c == '>') {
            if (!open_.empty() && open_.back() == '<' && last_ != '-')
                open_.pop_back();
        } else if (c == ')' || c == '}') {
            while (!open_.empty() && open_.back() == '<')
                open_.pop_back();
            if (!open_.empty())
                open_.pop_back();
        }
        last_ = c;
    }

    bool none() const { return open_.empty(); }

private:
    std::string open_ = {};
    char last_ = '\0';
};

/// The position after the bracket that closes the one at `open`; npos if there is none.
std::size_t pastClosing(std::string_view text, std::size_t open)
{
    Brackets brackets;
    for (std::size_t i = open; i < text.size(); ++i) {
        brackets.read(text[i]);
        if (brackets.none())
            return i + 1;
    }
    return std::string_view::npos;
}

/// Removes the cast from a number, as Nsight Systems writes arguments: `(int)128`.
std::string_view withoutCast(std::string_view argument)
{
    const std::size_t close = argument.starts_with('(') ? argument.find(')') : std::string_view::npos;
    if (close == std::string_view::npos || close + 1 == argument.size())
        return argument;
    const char next = argument[close + 1];
    return std::isdigit(static_cast<unsigned char>(next)) != 0 || next == '-' ? argument.substr(close + 1)
                                                                              : argument;
}

/// Splits at commas outside brackets.
Views splitArguments(std::string_view text)
{
    Views parts;
    Brackets brackets;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == ',' && brackets.none()) {
            parts.push_back(withoutCast(trimmed(text.substr(begin, i - begin))));
            begin = i + 1;
        }
        brackets.read(text[i]);
    }
    if (begin < text.size())
        parts.push_back(withoutCast(trimmed(text.substr(begin))));
    return parts;
}

struct Head {
    std::string_view qualified;
    std::string_view root;
    Views arguments;
};

constexpr std::string_view kAnonymous = "(anonymous namespace)";

/// The name without its template and call arguments. `(anonymous namespace)` and the arguments of enclosing
/// templates belong to the qualification.
Head headOf(std::string_view text)
{
    Head head;
    // Other texts may have spaces, too: `CUDA graph 7`.
    const bool isSignature = text.starts_with("void ") || text.find_first_of("<(") != std::string_view::npos;
    std::size_t component = 0; // start of the last component
    std::size_t i = 0;
    while (i < text.size()) {
        if (text.substr(i).starts_with(kAnonymous)) {
            i += kAnonymous.size();
        } else if (text.substr(i).starts_with("::")) {
            i += 2;
            component = i;
        } else if (text[i] == '<') {
            const std::size_t past = pastClosing(text, i);
            if (past == std::string_view::npos) { // truncated
                head.arguments = splitArguments(text.substr(i + 1));
                break;
            }
            if (text.substr(past).starts_with("::")) {
                i = past; // an enclosing template: continue with its member
                continue;
            }
            head.arguments = splitArguments(text.substr(i + 1, past - i - 2));
            break;
        } else if (text[i] == '(' && text.substr(component, i - component) == "decltype") {
            i = std::min(pastClosing(text, i), text.size()); // a result type: `decltype(auto) vllm::…`
        } else if (text[i] == '(' || text[i] == '{') {
            break;
        } else if (text[i] == ' ' && isSignature && !text.substr(i).starts_with(" (")) {
            // Skip a result type before the name: `void at::native::…`, `std::enable_if<…>::type vllm::…`.
            ++i;
            text.remove_prefix(i);
            i = component = 0;
        } else {
            ++i;
        }
    }
    // Some demanglers write `operator ()`.
    while (i > component && text[i - 1] == ' ')
        --i;
    head.qualified = text.substr(0, i);
    head.root = text.substr(component, i - std::min(i, component));
    return head;
}

/// Generic kernels and functors of ATen, CUTLASS and Composable Kernel, which apply one of their template
/// arguments.
constexpr std::array<std::string_view, 16> kWrappers{"gpu_kernel_impl",
                                                     "gpu_kernel_impl_nocast",
                                                     "gpu_index_kernel",
                                                     "BinaryFunctor",
                                                     "AUnaryFunctor",
                                                     "BUnaryFunctor",
                                                     "reduce_kernel",
                                                     "ReduceOp",
                                                     "func_wrapper_t",
                                                     "Kernel2",
                                                     "Kernel",
                                                     "device_kernel",
                                                     "kentry",
                                                     "opmath_gpu_kernel_with_scalars",
                                                     "opmath_symmetric_gpu_kernel_with_scalars",
                                                     "persistent_device_kernel"};

bool isWrapper(std::string_view root)
{
    // vectorized_elementwise_kernel, elementwise_kernel_manual_unroll, …; enable_sm90_or_later<…> of CUTLASS.
    return root.find("elementwise_kernel") != std::string_view::npos || root.starts_with("enable_") ||
           std::ranges::find(kWrappers, root) != kWrappers.end();
}

/// Whether an argument is a number, a truth value or the type of values: nothing that could be applied.
bool isValue(std::string_view argument)
{
    constexpr std::array<std::string_view, 26> kPlain{
        "",        "float",  "double",         "int",           "long",       "short",  "char",
        "bool",    "void",   "unsigned",       "signed",        "true",       "false",  "half",
        "__half",  "Half",   "BFloat16",       "__nv_bfloat16", "bfloat16_t", "half_t", "__bf16",
        "complex", "size_t", "__hip_bfloat16", "nullptr_t",     "_Float16"};
    std::string_view root = headOf(argument).root;
    root = root.substr(0, root.find_first_of(" *&"));
    return std::ranges::find(kPlain, root) != kPlain.end() || root.starts_with("Float8") ||
           root.starts_with("gfx") || // an architecture
           std::isdigit(static_cast<unsigned char>(root.front())) != 0 || root.front() == '-';
}

/// The argument that a wrapper applies; empty if there is none.
std::string_view innerOf(const Head& wrapper)
{
    const auto found = std::ranges::find_if_not(wrapper.arguments, isValue);
    return found == wrapper.arguments.end() ? std::string_view() : *found;
}

/// The functor of multi_tensor_apply_kernel<metadata, functor, …>. A foreach functor applies another one
/// (std::multiplies), which is more specific.
std::string_view innerOfMultiTensor(const Views& arguments)
{
    if (arguments.size() > 2 && arguments[1].find("Op") != std::string_view::npos && !isValue(arguments[2]))
        return arguments[2];
    return arguments.size() > 1 ? arguments[1] : arguments.front();
}

std::string_view subjectOf(const Head& outer)
{
    Head head = outer;
    for (int depth = 0; depth < 8; ++depth) {
        const bool isMultiTensor = head.root == "multi_tensor_apply_kernel";
        if (head.arguments.empty() || (!isMultiTensor && !isWrapper(head.root)))
            break;
        const Head inner = headOf(isMultiTensor ? innerOfMultiTensor(head.arguments) : innerOf(head));
        if (inner.root.empty())
            break;
        head = inner;
    }
    // For `sum_functor<…>::operator()` and `silu_kernel(…)::{lambda…}::operator()`, the part before is the
    // subject.
    if (head.root == "operator") {
        std::string_view before = head.qualified.substr(0, head.qualified.rfind("::"));
        return headOf(before).root.empty() ? head.root : headOf(before).root;
    }
    return head.root;
}

struct TypeName {
    std::string_view spelling;
    std::string_view word;
};
/// The first of these in a name is the kernel's type. Narrow floats come before fp32, because a kernel that
/// reads bf16 and accumulates in fp32 is a bf16 kernel; fp64 after fp32, because many kernels take scalars as
/// doubles; integers last, because indices and sizes are integers.
constexpr std::array kTypes{
    TypeName{"float_e4m3", "fp8"},      TypeName{"float_e5m2", "fp8"},     TypeName{"float_e2m1", "fp4"},
    TypeName{"Float8_e4m3", "fp8"},     TypeName{"Float8_e5m2", "fp8"},    TypeName{"float8_copy", "fp8"},
    TypeName{"__nv_fp8", "fp8"},        TypeName{"c10::BFloat16", "bf16"}, TypeName{"__nv_bfloat16", "bf16"},
    TypeName{"bfloat16", "bf16"},       TypeName{"c10::Half", "fp16"},     TypeName{"__half", "fp16"},
    TypeName{"half_t", "fp16"},         TypeName{"float16_copy", "fp16"},  TypeName{"__bf16", "bf16"},
    TypeName{"__hip_bfloat16", "bf16"}, TypeName{"half", "fp16"},          TypeName{"_Float16", "fp16"},
    TypeName{"float", "fp32"},          TypeName{"double", "fp64"},        TypeName{"unsigned char", "u8"},
    TypeName{"bool", "bool"},           TypeName{"long", "i64"},           TypeName{"int", "i32"},
};

bool isWordCharacter(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool containsWord(std::string_view text, std::string_view word)
{
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        const bool begins = at == 0 || !isWordCharacter(text[at - 1]);
        const std::size_t end = at + word.size();
        if (begins && (end == text.size() || !isWordCharacter(text[end])))
            return true;
    }
    return false;
}

bool names(std::string_view text, const TypeName& type)
{
    const bool isKeyword = type.word == type.spelling || type.spelling == "float" ||
                           type.spelling == "double" || type.spelling == "long" || type.spelling == "int";
    return isKeyword ? containsWord(text, type.spelling) : text.find(type.spelling) != std::string_view::npos;
}

/// The part of the name that contains the values' type: the template arguments without sizes, index types and
/// schedules of wrappers.
std::string_view typeOf(const Head& head)
{
    Views arguments = head.arguments;
    std::erase_if(arguments, [](std::string_view argument) {
        return argument.starts_with("unsigned int") || argument.starts_with("std::array") ||
               argument.find("OffsetCalculator") != std::string_view::npos;
    });
    for (const TypeName& type : kTypes)
        if (std::any_of(arguments.begin(), arguments.end(),
                        [&type](std::string_view argument) { return names(argument, type); }))
            return type.word;
    return {};
}

/// Removes what compilers append to copies of a function: `.clone.0`, `.constprop.1`, ` (.llvm.123)`.
std::string_view withoutCopySuffix(std::string_view name)
{
    constexpr std::array<std::string_view, 5> kCopies{".clone", ".llvm", ".constprop", ".isra", ".part"};
    for (;;) {
        std::string_view kept = name;
        const bool isInBrackets = kept.ends_with(')') && kept.find(" (.") != std::string_view::npos;
        if (isInBrackets)
            kept.remove_suffix(1);
        const std::size_t digits = kept.find_last_not_of("0123456789");
        if (digits == std::string_view::npos || digits + 1 == kept.size() || kept[digits] != '.')
            return name;
        kept = kept.substr(0, digits);
        const auto copy =
            std::ranges::find_if(kCopies, [&](std::string_view each) { return kept.ends_with(each); });
        if (copy == kCopies.end())
            return name;
        kept.remove_suffix(copy->size());
        if (isInBrackets && kept.ends_with(" ("))
            kept.remove_suffix(2);
        if (kept.empty())
            return name;
        name = kept;
    }
}

/// Removes the hash that Rust appends to names: `kernels::add::h0123456789abcdef`.
std::string withoutRustHash(std::string name)
{
    constexpr std::size_t kHash = 19; // ::h and 16 digits
    const std::size_t begin = name.size() < kHash ? 0 : name.size() - kHash;
    if (begin > 0 && name.compare(begin, 3, "::h") == 0 &&
        name.find_first_not_of("0123456789abcdef", begin + 3) == std::string::npos)
        name.resize(begin);
    return name;
}

/// Removes a suffix of Triton 2, which lists arguments that are divisible by 16 (`d`), equal to 1 (`c`) or
/// divisible by 8 (`e`): `_fwd_kernel_0d1d2de3`.
std::string_view withoutTritonSignature(std::string_view name)
{
    const std::size_t begin = name.find_last_not_of("0123456789cde");
    if (begin == std::string_view::npos || begin + 2 >= name.size() || name[begin] != '_' || begin == 0 ||
        name[begin + 1] != '0' || name.find("0d", begin) != begin + 1)
        return name;
    const std::string_view kept = name.substr(0, name.find_last_not_of('_', begin) + 1);
    return kept == "triton" ? name : kept; // TorchInductor's names of PyTorch 2.0
}

} // namespace

std::string readableKernelName(std::string_view name)
{
    name = trimmed(name);
    if (const std::size_t clone = name.rfind(" [clone"); clone != std::string_view::npos && clone > 0)
        name = name.substr(0, clone);
    if (name.ends_with(".kd"))
        name.remove_suffix(3);
    name = withoutCopySuffix(name);
    if (isMangled(name))
        return withoutRustHash(demangled(name));
    // CUTLASS's Python DSL appends the types of the arguments, and prepends its own name.
    if (const std::size_t types = name.find("_object_at_"); types != std::string_view::npos && types > 0) {
        name = name.substr(0, types);
        for (const std::string_view prefix : {"kernel_cutlass_kernel_", "kernel_cutlass_"})
            if (name.starts_with(prefix) && name.size() > prefix.size()) {
                name.remove_prefix(prefix.size());
                break;
            }
    }
    return std::string(withoutTritonSignature(name));
}

KernelName parseKernelName(std::string_view name)
{
    const Head head = headOf(trimmed(name));
    return {head.qualified, head.root, subjectOf(head), typeOf(head), head.arguments};
}

} // namespace tilescope::analysis
