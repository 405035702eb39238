#pragma once

#include "core/model/kernel_samples.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// The kernels of a module of machine code and the source lines of their instructions.
///
/// A module is an ELF file of NVIDIA's tools. Lines are those of its section .debug_line (DWARF 2 to 4), which nvcc
/// writes with -lineinfo and Triton by default. NVIDIA extends it by an operation 0x90 that names, for the rows that
/// follow, the inlined function (an offset in .debug_str) and the row of its call (as nvdisasm -gi prints).
class Cubin {
public:
    /// Reads as much as fits together; damaged or foreign bytes give no kernels and no lines. O(bytes).
    explicit Cubin(std::string_view elf);

    /// What an instruction was compiled from.
    struct Place {
        SourceLine line = {};
        SourceLine caller = {};   ///< line of the kernel itself; no line: `line` is
        std::string inlined = {}; ///< name of the function of `line`, demangled; empty: the kernel
    };
    /// \param symbol  mangled name of the kernel
    /// \param offset  bytes from its beginning
    /// \return        none if it has no line
    std::optional<Place> placeOf(const std::string& symbol, std::uint64_t offset) const;
    /// The index of a kernel in the table of symbols, by which nvdisasm selects it; none if it is not in the module.
    std::optional<std::uint32_t> indexOf(const std::string& symbol) const;

private:
    struct Row {
        std::uint64_t address = 0; ///< from the beginning of the kernel
        std::uint32_t file = 0;    ///< index in files_
        std::uint32_t line = 0;
        std::uint32_t call = 0;     ///< number of the row of the call, from 1; 0: not inlined
        std::uint32_t function = 0; ///< offset of the inlined function's name
        bool isEnd = false;         ///< of the kernel's instructions
    };
    struct Section {
        std::string_view name;
        std::string_view bytes;
        std::uint32_t type = 0;
        std::uint32_t info = 0;
    };
    struct Symbol {
        std::string_view name;
        std::uint32_t section = 0;
    };
    class LineProgram;

    std::vector<Row> rows_; ///< of all kernels, in the order of the section: call sites are numbered so
    std::map<std::string, std::vector<std::uint32_t>, std::less<>> rowsOf_; ///< by symbol, sorted by address
    std::vector<std::string> files_;
    std::map<std::string, std::uint32_t, std::less<>> symbols_;
    std::string strings_; ///< .debug_str
};

} // namespace tilescope::analysis
