#pragma once

#include "core/analysis/kernels/kernel_families.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace tilescope::analysis {

/// What an op reads, writes and computes.
enum class OpKind : std::uint8_t {
    Uncounted,      ///< only the family is known
    Caller,         ///< calls other ops, which are counted, and does no work itself
    View,           ///< does no work
    Product,        ///< a b: mm, bmm
    AddedProduct,   ///< c + a b: addmm, baddbmm
    Linear,         ///< x wᵀ + b
    ScaledProduct,  ///< a b of 8-bit types, with a result of 16 bits
    GroupedProduct, ///< each row of a times one of several matrices b
    Convolution,    ///< input, weight, bias, stride, padding, dilation, transposed, output padding, groups
    BackendConvolution,     ///< input, weight, padding, stride, dilation, groups
    ConvolutionBackward,    ///< gradient, input, weight; computes the gradients of input and weight
    Attention,              ///< q, k, v by head
    AttentionByRow,         ///< q, k, v with heads inside rows
    AttentionBackward,      ///< dO, q, k, v, o
    AttentionBackwardByRow, ///< the same with heads inside rows
    Map,                    ///< one result of the operands' common shape
    MaskedMap,              ///< like Map, with a mask of one byte per element
    Compare,                ///< like Map, with a result of one byte per element
    Reduce,                 ///< reads its operands; the result is small and not counted
    Lists,                  ///< an element-wise op on lists of tensors, the first of which it writes
    ListsReduce,            ///< reads a list
    Traffic,                ///< reads or writes each tensor once; flops per element of the first
    Update,                 ///< changes tensors of the first one's shape in place, reads the others
    RotateInPlace,          ///< positions, queries, keys, head dim, table of angles
    WriteCache,             ///< keys and values of tokens, their caches, slots
    Message,                ///< reads the message of a collective
    Rows,                   ///< reads rows, writes rows: softmax, norms
    RowsBackward,           ///< reads two tensors of rows, writes one
    Gather,                 ///< rows of a table
    Scatter,                ///< gradients of rows into a table; a nested op fills its zeros
    Pick,                   ///< one value from each row, selected by index
    PickBackward,           ///< gradients of the picked values into rows; a nested op fills their zeros
    Copy,                   ///< destination, source
    Fill,                   ///< writes its first operand
    Adam,                   ///< lists of parameters, gradients and two moments
    Fused,                  ///< a fused op of the language model's step: fused_op_work.h
};

/// The table's facts about an op.
struct OpRow {
    std::string_view op; ///< aten::mm
    OpKind kind = OpKind::Uncounted;
    KernelFamily family = KernelFamily::Other;
    int operands =
        1; ///< Map, Reduce: number of tensors that are read; later ones are outputs. Lists: number of lists
    std::int64_t flops = 0; ///< per element of the result (Reduce: of the first operand)
    int causalAt = -1;      ///< attention: position of the argument that says whether it is causal; -1: none
};

/// All rows, sorted by name.
std::span<const OpRow> opTable();

/// The row of an op; nullptr if the table has none. O(log rows).
const OpRow* findOp(std::string_view op);

} // namespace tilescope::analysis
