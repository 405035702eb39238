#pragma once

#include <string_view>

// Also part of the recorder's plug-in, which is compiled on the user's machine: C++17.
namespace tilescope {

/// The type of a tensor's elements, as each program names it.
struct ElementType {
    std::string_view word; ///< in recordings: bf16; null-terminated
    std::string_view cpp;  ///< in C++, as Kineto writes types of inputs: c10::BFloat16
    std::string_view
        torch; ///< LibTorch's own name, as Kineto writes types of collectives: BFloat16; null-terminated
    std::string_view precision; ///< in specs and results: fp32; empty for integers
    std::string_view nccl;      ///< in names of NCCL's kernels, where it is not the word: half
    int bytes;
    bool isComplex = false;
};

/// A word of several types takes the value of the first type.
inline constexpr ElementType kElementTypes[] = {
    {"f32", "float", "Float", "fp32", "float", 4},
    {"bf16", "c10::BFloat16", "BFloat16", "bf16", "", 2},
    {"f16", "c10::Half", "Half", "fp16", "half", 2},
    {"f64", "double", "Double", "fp64", "double", 8},
    {"i64", "long int", "Long", "", "int64", 8},
    {"i32", "int", "Int", "", "int32", 4},
    {"i16", "short int", "Short", "", "", 2},
    {"i8", "signed char", "Char", "", "int8", 1},
    {"u8", "unsigned char", "Byte", "", "uint8", 1},
    {"u32", "unsigned int", "UInt32", "", "uint32", 4},
    {"u64", "unsigned long", "UInt64", "", "uint64", 8},
    {"bool", "bool", "Bool", "", "", 1},
    {"f8", "c10::Float8_e4m3fn", "Float8_e4m3fn", "fp8", "f8e4m3", 1},
    {"f8", "c10::Float8_e5m2", "Float8_e5m2", "fp8", "f8e5m2", 1},
    {"c32", "c10::complex<c10::Half>", "ComplexHalf", "", "", 4, true},
    {"c64", "c10::complex<float>", "ComplexFloat", "", "", 8, true},
    {"c128", "c10::complex<double>", "ComplexDouble", "", "", 16, true},
};

/// The first type whose `name`, for example &ElementType::word, is `text`; null if there is none.
constexpr const ElementType* findElementType(std::string_view ElementType::*name, std::string_view text)
{
    for (const ElementType& type : kElementTypes)
        if (!text.empty() && type.*name == text)
            return &type;
    return nullptr;
}

} // namespace tilescope
