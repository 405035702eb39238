#include "core/base/error.h"
#include "core/engine/attention/attention.h"
#include "core/engine/common/autocast.h"
#include "core/engine/common/device.h"
#include "core/engine/common/experiment.h"
#include "core/engine/common/failure.h"
#include "core/engine/common/set_up.h"
#include "core/trace/host/range.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <filesystem>

namespace tilescope::engine {
namespace {

using at::Tensor;
using Loader = torch::inductor::AOTIModelPackageLoader;

// A package is made for one kind of device. Loading it on another fails late with an obscure message.
void requireDevice(const std::string& path, const Device& device)
{
    const auto metadata = Loader::load_metadata_from_package(path, "model");
    const auto made = metadata.find("AOTI_DEVICE_KEY");
    const char* here = device.isCuda() ? "cuda" : "cpu";
    if (made != metadata.end() && made->second != here)
        throw Unsupported{
            c10::str("the package was made for ", made->second, " and this point runs on ", here)};
}

std::string packageOf(const ExperimentSpec& spec, const Device& device)
{
    std::error_code none;
    if (!std::filesystem::is_regular_file(spec.compile.package, none))
        throw Error{.what = "there is no such package",
                    .where = spec.compile.package,
                    .remedy =
                        "make one with torch._inductor.aoti_compile_and_package; paths are from the folder "
                        "in which the engine is started",
                    .kind = ErrorKind::Failure};
    requireDevice(spec.compile.package, device);
    return spec.compile.package;
}

/// Runs a package that AOTInductor compiled from a model on inputs of the spec's shape: q, k and v (batch,
/// heads, N, d), or tokens (batch, context). The package determines weights and arithmetic.
class PackagedExperiment final : public Experiment {
public:
    PackagedExperiment(const ExperimentSpec& spec, const Device& device)
        : spec_(spec), lm_(spec.workload == Workload::Lm),
          model_(packageOf(spec, device), "model", false, 1,
                 device.isCuda() ? device.torch().index() : c10::DeviceIndex(-1))
    {
        const auto options = at::device(device.torch());
        if (lm_) {
            const Making making(MemoryCategory::Inputs, "tokens");
            inputs_.push_back(at::empty({spec.batch, spec.context}, options.dtype(at::kLong)));
            return;
        }
        const auto draw = [&](const char* name, std::int64_t heads, std::int64_t length) {
            const Making making(MemoryCategory::Inputs, name);
            return at::randn({spec.batch, heads, length, spec.headDim},
                             options.dtype(inputDtype(spec.precision)));
        };
        inputs_ = {draw("q", spec.heads, spec.seqLen), draw("k", spec.kvHeads, spec.kvLen),
                   draw("v", spec.kvHeads, spec.kvLen)};
    }

    void refreshInputs() override
    {
        if (lm_)
            inputs_.front().random_(0, spec_.vocab);
    }
    void dropGradients() override {}

    void run(Phase /*phase*/) override
    {
        const trace::ScopedRange range("package");
        outputs_ = model_.run(inputs_);
    }

    void finish() override { outputs_.clear(); }

    bool has(Phase phase) const override { return phase == Phase::Step || phase == Phase::Forward; }

    // The package does not expose its weights.
    void visitHeld(const HoldVisitor& visit) const override
    {
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            visit(MemoryCategory::Inputs, lm_ ? "tokens" : std::string(1, "qkv"[i]), inputs_[i]);
    }
    Tensor graphRoot() const override { return {}; }

    // Sum of the output, as for attention.
    std::optional<double> loss() const override
    {
        if (lm_ || outputs_.empty())
            return {};
        return outputs_.front().sum(at::kDouble).item<double>();
    }

private:
    ExperimentSpec spec_;
    bool lm_;
    Loader model_;
    std::vector<Tensor> inputs_;
    std::vector<Tensor> outputs_;
};

} // namespace

std::unique_ptr<Experiment> makePackagedExperiment(const ExperimentSpec& spec, const Device& device)
{
    return std::make_unique<PackagedExperiment>(spec, device);
}

} // namespace tilescope::engine
