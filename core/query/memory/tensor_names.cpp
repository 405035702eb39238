#include "core/query/memory/tensor_names.h"

#include "core/analysis/time/path_glob.h"
#include "core/analysis/work/tensor_shape.h"

#include <algorithm>
#include <array>
#include <map>

namespace tilescope::query {

namespace {

using Dims = std::vector<std::int64_t>;

using analysis::TensorShape;

std::vector<TensorShape> operandsOf(std::string_view shapes)
{
    return analysis::parseShapes(shapes).value_or(std::vector<TensorShape>{});
}

/// The operands and the result of a batched product; none for other ops.
struct Product {
    TensorShape first;
    TensorShape second;
    TensorShape result;
};

std::optional<Product> productOf(std::string_view op, const std::vector<TensorShape>& operands)
{
    const std::size_t from = op == "aten::baddbmm" ? 1 : 0;
    if ((op != "aten::bmm" && op != "aten::baddbmm") || operands.size() < from + 2)
        return {};
    Product product{operands[from], operands[from + 1], {}};
    const Dims& a = product.first.sizes;
    const Dims& b = product.second.sizes;
    if (a.size() != 3 || b.size() != 3 || a[0] != b[0] || a[2] != b[1])
        return {};
    product.result = {{a[0], a[1], b[2]}, product.first.elementBytes};
    return product;
}

/// Names the blocks of one attention module in one step, in order of allocation.
class AttentionStep {
public:
    AttentionStep(const MemoryHistory& history, std::vector<TensorName>& names, bool isOwnKernel,
                  std::int64_t queryBytes)
        : history_(history), names_(names), isOwnKernel_(isOwnKernel), queryBytes_(queryBytes)
    {
    }

    void forward(std::uint32_t index)
    {
        const MemoryLife& block = history_.blocks[index];
        const std::string_view op = history_.text(block.op);
        const auto operands = operandsOf(history_.text(block.shape));
        if (const auto product = productOf(op, operands)) {
            if (!isResult(block, product->result))
                return workspace(index, op);
            name(index, sawWeights_ ? "O" : "S", product->result.sizes);
            if (!sawWeights_)
                scores_ = product->result.sizes;
        } else if (op == "aten::_softmax" && !operands.empty() && isResult(block, operands[0])) {
            sawWeights_ = true;
            scores_ = operands[0].sizes;
            name(index, "P", scores_);
        } else if (!sawWeights_ && scores_.empty() && queryBytes_ > 0 &&
                   block.category == MemoryCategory::Activations) {
            // A fused op, which has no scores in memory: it saves its output and the row statistics.
            name(index, block.bytes == queryBytes_ ? "O" : "LSE", {});
        }
    }

    void backward(std::uint32_t index)
    {
        const MemoryLife& block = history_.blocks[index];
        const std::string_view op = history_.text(block.op);
        const auto operands = operandsOf(history_.text(block.shape));
        if (const auto product = productOf(op, operands)) {
            if (!isResult(block, product->result))
                return workspace(index, op);
            const std::string_view letter =
                sawScoresGradient_ ? afterScores(*product) : beforeScores(block, *product);
            name(index, letter, product->result.sizes);
            last_ = index;
            lastOperand_ = product->result;
        } else if (op == "aten::_softmax_backward_data" && !operands.empty() &&
                   isResult(block, operands[0])) {
            sawScoresGradient_ = true;
            scores_ = operands[0].sizes;
            name(index, "dS", scores_);
        } else if (op == "aten::mul" && operands.size() >= 2 && operands[0].sizes == scores_ &&
                   operands[1].sizes == scores_ && isResult(block, operands[0])) {
            name(index, "P * dP", scores_);
        } else if (last_ && block.bytes == history_.blocks[*last_].bytes && isCopy(op, operands, block)) {
            copy(index, op);
        } else if (!sawScoresGradient_ && scores_.empty() && block.category == MemoryCategory::Gradients) {
            fusedGradient(index);
        } else if (op.find("attention") != std::string_view::npos) {
            workspace(index, op);
        }
    }

private:
    static bool isResult(const MemoryLife& block, const TensorShape& result)
    {
        return block.bytes == result.elements() * result.elementBytes;
    }

    void name(std::uint32_t index, std::string_view name, const Dims& dims)
    {
        names_[index].name = name;
        if (!dims.empty())
            names_[index].shape = analysis::shapeText(dims);
    }

    void workspace(std::uint32_t index, std::string_view op)
    {
        names_[index].name = "workspace of " + std::string(op);
        names_[index].shape.clear();
    }

    /// dV = P^T dO and dP = dO V^T.
    std::string_view beforeScores(const MemoryLife& block, const Product& product)
    {
        const bool mayBeWeights = product.result.sizes == scores_;
        const bool mayBeValues = product.first.sizes.size() == 3 && scores_.size() == 3 &&
                                 product.first.sizes[1] == scores_[2] && product.first.sizes[2] == scores_[1];
        if (mayBeWeights != mayBeValues)
            return mayBeWeights ? "dP" : "dV";
        // All shapes are equal: autograd computes the second operand's gradient first, and gradients are
        // identified by that order.
        const bool isValues = block.category == MemoryCategory::Gradients || !sawFirst_;
        sawFirst_ = true;
        return isValues ? "dV" : "dP";
    }

    /// dQ = dS K, and dK^T = Q^T dS or dK = dS^T Q.
    std::string_view afterScores(const Product& product)
    {
        const bool firstIsScores = product.first.sizes == scores_;
        const bool secondIsScores = product.second.sizes == scores_;
        const bool isQueries = firstIsScores != secondIsScores ? firstIsScores && !sawQueries_ : !sawQueries_;
        sawQueries_ = sawQueries_ || isQueries;
        return isQueries ? "dQ" : "dK";
    }

    /// Whether an op only scales, rearranges or copies the result of the last product.
    bool isCopy(std::string_view op, const std::vector<TensorShape>& operands, const MemoryLife& block) const
    {
        if (op == "aten::mul")
            return !operands.empty() && operands[0].sizes == lastOperand_.sizes &&
                   isResult(block, operands[0]);
        return (op == "aten::empty_strided" || op == "aten::empty" || op == "aten::clone") &&
               block.category == MemoryCategory::Gradients;
    }

    void copy(std::uint32_t index, std::string_view op)
    {
        const std::string letter = names_[*last_].name;
        names_[*last_].name += op == "aten::mul" ? " before scaling" : " as computed";
        names_[index].name = letter.substr(0, letter.find(' '));
        names_[index].shape = op == "aten::mul" ? names_[*last_].shape : std::string();
        last_ = index;
    }

    void fusedGradient(std::uint32_t index)
    {
        // Only of our own op the order is known.
        constexpr std::array<std::string_view, 3> letters{"dQ", "dK", "dV"};
        names_[index].name = isOwnKernel_ && fused_ < letters.size() ? std::string(letters[fused_])
                                                                     : std::string("dQ, dK or dV");
        ++fused_;
    }

    const MemoryHistory& history_;
    std::vector<TensorName>& names_;
    const bool isOwnKernel_;
    const std::int64_t queryBytes_; ///< of the q that is an input; 0 if this is not attention alone
    Dims scores_;                   ///< [batch * heads, queries, keys]
    bool sawWeights_ = false;       ///< softmax has run
    bool sawScoresGradient_ = false;
    bool sawFirst_ = false;   ///< of backward's two products before that
    bool sawQueries_ = false; ///< dQ is named
    std::optional<std::uint32_t> last_;
    TensorShape lastOperand_;
    std::size_t fused_ = 0;
};

/// The attention module that contains a path: layers.3/attention; empty if there is none.
std::string_view attentionOf(std::string_view path)
{
    const std::string_view module = analysis::moduleOf(path);
    constexpr std::string_view kName = "attention";
    for (std::size_t at = module.find(kName); at != std::string_view::npos; at = module.find(kName, at + 1)) {
        const std::size_t end = at + kName.size();
        if ((at == 0 || module[at - 1] == '/') && (end == module.size() || module[end] == '/'))
            return module.substr(0, end);
    }
    return {};
}

/// The memory that exists before a trace, by holder.
std::string olderName(const MemoryHistory& history, const MemoryLife& block)
{
    const std::string_view holder = history.text(block.name);
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> letters{
        {{"q", "Q"}, {"k", "K"}, {"v", "V"}, {"grad_o", "dO"}}};
    if (block.category == MemoryCategory::Workspace)
        return std::string(holder) + " workspace";
    for (const auto& [name, letter] : letters)
        if (holder == name)
            return (block.category == MemoryCategory::Gradients ? "d" : "") + std::string(letter);
    return std::string(holder);
}

/// The last holder of each piece of memory.
class Places {
public:
    /// Earlier blocks in the memory of a new one, which has it from now on; the latest first.
    std::vector<std::uint32_t> take(std::uint32_t index, const MemoryLife& block)
    {
        const std::uint64_t begin = block.address;
        const std::uint64_t end = begin + static_cast<std::uint64_t>(std::max<std::int64_t>(block.bytes, 1));
        std::vector<std::uint32_t> before;
        auto place = places_.lower_bound(begin);
        if (place != places_.begin() && std::prev(place)->second.end > begin)
            --place;
        while (place != places_.end() && place->first < end) {
            const auto [from, last] = std::pair(place->first, place->second);
            before.push_back(last.block);
            place = places_.erase(place);
            if (from < begin)
                places_[from] = {begin, last.block};
            if (last.end > end)
                places_[end] = {last.end, last.block};
        }
        places_[begin] = {end, index};
        std::ranges::sort(before, std::ranges::greater{});
        before.erase(std::unique(before.begin(), before.end()), before.end());
        return before;
    }

private:
    struct Place {
        std::uint64_t end = 0;
        std::uint32_t block = 0;
    };
    std::map<std::uint64_t, Place> places_; // by address
};

} // namespace

std::vector<TensorName> tensorNames(const MemoryHistory& history)
{
    std::vector<TensorName> names(history.blocks.size());
    const bool isOwnKernel = history.run.specJson.find(R"("backend":"flash")") != std::string::npos;
    std::int64_t queryBytes = 0;
    Places places;
    std::map<std::pair<std::int32_t, std::string_view>, AttentionStep> steps;
    for (std::uint32_t index = 0; index < history.blocks.size(); ++index) {
        const MemoryLife& block = history.blocks[index];
        names[index].reuses = places.take(index, block);
        if (block.isOlder()) {
            names[index].name = olderName(history, block);
            names[index].shape = history.text(block.shape);
            if (names[index].name == "Q")
                queryBytes = block.bytes;
            continue;
        }
        const std::string_view path = history.text(block.path);
        const std::string_view attention = attentionOf(path);
        if (attention.empty())
            continue;
        AttentionStep& step =
            steps.try_emplace({block.step, attention}, history, names, isOwnKernel, queryBytes).first->second;
        analysis::phaseOf(path) == "backward" ? step.backward(index) : step.forward(index);
    }
    return names;
}

NamedMemory namedMemory(std::shared_ptr<const MemoryHistory> history, std::optional<std::int64_t> at,
                        const std::string& glob)
{
    NamedMemory named{.history = history, .at = at};
    if (history->empty())
        return named;
    const std::vector<TensorName> names = tensorNames(*history);
    std::int32_t step = kNoStep;
    for (const MemoryLife& block : history->blocks)
        if (block.step != kNoStep && (step == kNoStep || block.step < step))
            step = block.step;
    std::vector<std::uint32_t> chosen;
    if (at) {
        chosen = history->aliveAt(*at);
        named.allocated = history->allocated.at(*at);
    } else {
        for (std::uint32_t index = 0; index < history->blocks.size(); ++index)
            if (const MemoryLife& block = history->blocks[index]; block.isOlder() || block.step == step)
                chosen.push_back(index);
        named.allocated = history->allocated.value(history->allocated.peak());
    }
    named.unknown = named.allocated;
    for (const std::uint32_t index : history->aliveAt(at.value_or(history->peakTime)))
        named.unknown -= history->blocks[index].bytes;
    std::optional<analysis::PathGlob> pattern;
    if (!glob.empty())
        pattern.emplace(glob);
    for (const std::uint32_t index : chosen) {
        const MemoryLife& block = history->blocks[index];
        const std::string_view path = history->text(block.path);
        if (pattern && (path.empty() || !pattern->contains(analysis::fromStepDown(path))))
            continue;
        NamedBlock row{.block = index, .life = block, .name = names[index].name, .shape = names[index].shape};
        for (const std::uint32_t earlier : names[index].reuses) {
            const MemoryLife& other = history->blocks[earlier];
            const std::string name =
                names[earlier].name.empty()
                    ? std::string(history->text(other.op).empty() ? "another block" : history->text(other.op))
                    : names[earlier].name;
            const std::string text = name + (other.step == block.step ? "" : " of the step before");
            if (row.reuses.find(text) == std::string::npos)
                row.reuses += (row.reuses.empty() ? "" : ", ") + text;
        }
        row.allocated =
            history->allocated.at(std::max<std::int64_t>(block.begin, history->allocated.time(0)));
        named.rows.push_back(std::move(row));
    }
    return named;
}

} // namespace tilescope::query
