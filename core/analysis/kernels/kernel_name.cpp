#include "core/analysis/kernels/kernel_name.h"

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

/// The position after the bracket that closes the one at `open`; npos if there is none.
std::size_t pastClosing(std::string_view text, std::size_t open)
{
    int depth = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '<' || c == '(' || c == '{')
            ++depth;
        else if ((c == '>' || c == ')' || c == '}') && --depth == 0)
            return i + 1;
    }
    return std::string_view::npos;
}

/// Splits at commas outside brackets.
Views splitArguments(std::string_view text)
{
    Views parts;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '<' || c == '(' || c == '{')
            ++depth;
        else if (c == '>' || c == ')' || c == '}')
            --depth;
        else if (c == ',' && depth == 0) {
            parts.push_back(trimmed(text.substr(begin, i - begin)));
            begin = i + 1;
        }
    }
    if (begin < text.size())
        parts.push_back(trimmed(text.substr(begin)));
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
            if (past == std::string_view::npos)
                break;
            if (text.substr(past).starts_with("::")) {
                i = past; // an enclosing template: continue with its member
                continue;
            }
            head.arguments = splitArguments(text.substr(i + 1, past - i - 2));
            break;
        } else if (text[i] == '(' || text[i] == '{') {
            break;
        } else if (text[i] == ' ') {
            // Skip a result type before the name: `void at::native::…`.
            ++i;
            text.remove_prefix(i);
            i = component = 0;
        } else {
            ++i;
        }
    }
    head.qualified = text.substr(0, i);
    head.root = text.substr(component, i - std::min(i, component));
    return head;
}

/// Wrappers of ATen and CUTLASS, and the index of the argument that names the wrapped function.
struct Wrapper {
    std::string_view name;
    enum { First, Second, Last, AfterMetadata } subject;
};
constexpr std::array kWrappers{
    Wrapper{"vectorized_elementwise_kernel", Wrapper::Second},
    Wrapper{"unrolled_elementwise_kernel", Wrapper::First},
    Wrapper{"vectorized_templated_elementwise_kernel", Wrapper::Second},
    Wrapper{"elementwise_kernel_with_index", Wrapper::Second},
    Wrapper{"elementwise_kernel", Wrapper::Last},
    Wrapper{"index_elementwise_kernel", Wrapper::Last},
    Wrapper{"_scatter_gather_elementwise_kernel", Wrapper::Last},
    Wrapper{"gpu_kernel_impl_nocast", Wrapper::First},
    Wrapper{"gpu_kernel_impl", Wrapper::First},
    Wrapper{"gpu_index_kernel", Wrapper::First},
    Wrapper{"BinaryFunctor", Wrapper::Last},
    Wrapper{"AUnaryFunctor", Wrapper::Last},
    Wrapper{"BUnaryFunctor", Wrapper::Last},
    Wrapper{"reduce_kernel", Wrapper::Last},
    Wrapper{"ReduceOp", Wrapper::Second},
    Wrapper{"func_wrapper_t", Wrapper::Second},
    Wrapper{"multi_tensor_apply_kernel", Wrapper::AfterMetadata},
    Wrapper{"Kernel2", Wrapper::First},
    Wrapper{"Kernel", Wrapper::First},
    Wrapper{"device_kernel", Wrapper::First},
};

std::string_view innerOf(const Wrapper& wrapper, const Views& arguments)
{
    switch (wrapper.subject) {
    case Wrapper::First:
        return arguments.front();
    case Wrapper::Second:
        return arguments.size() > 1 ? arguments[1] : arguments.front();
    case Wrapper::Last:
        return arguments.back();
    case Wrapper::AfterMetadata:
        // The functor. A foreach functor applies another one (std::multiplies), which is more specific.
        if (arguments.size() > 2 && arguments[1].find("Op") != std::string_view::npos &&
            headOf(arguments[2]).root != "float")
            return arguments[2];
        return arguments.size() > 1 ? arguments[1] : arguments.front();
    }
    return arguments.front();
}

std::string_view subjectOf(const Head& outer)
{
    Head head = outer;
    for (int depth = 0; depth < 8; ++depth) {
        const auto wrapper = std::find_if(kWrappers.begin(), kWrappers.end(),
                                          [&head](const Wrapper& w) { return w.name == head.root; });
        if (wrapper == kWrappers.end() || head.arguments.empty())
            break;
        const Head inner = headOf(innerOf(*wrapper, head.arguments));
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
    TypeName{"Float8_e4m3", "fp8"}, TypeName{"Float8_e5m2", "fp8"},    TypeName{"float8_copy", "fp8"},
    TypeName{"__nv_fp8", "fp8"},    TypeName{"c10::BFloat16", "bf16"}, TypeName{"__nv_bfloat16", "bf16"},
    TypeName{"bfloat16", "bf16"},   TypeName{"c10::Half", "fp16"},     TypeName{"__half", "fp16"},
    TypeName{"half_t", "fp16"},     TypeName{"float16_copy", "fp16"},

    TypeName{"float", "fp32"},      TypeName{"double", "fp64"},        TypeName{"unsigned char", "u8"},
    TypeName{"bool", "bool"},       TypeName{"long", "i64"},           TypeName{"int", "i32"},
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

} // namespace

KernelName parseKernelName(std::string_view name)
{
    const Head head = headOf(trimmed(name));
    return {head.qualified, head.root, subjectOf(head), typeOf(head), head.arguments};
}

} // namespace tilescope::analysis
