#include "core/engine/lm/compiled_passes.h"

#include "core/base/error.h"
#include "core/engine/common/device.h"
#include "core/engine/common/failure.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <charconv>
#include <sstream>

namespace tilescope::engine {

CompiledPasses::CompiledPasses(const CompiledModel& model, const Device& device, bool hasBackward)
{
    try {
        forward_ = loaded(model, "forward", device);
        if (!hasBackward)
            return;
        backward_ = loaded(model, "backward", device);
        auto metadata = Loader::load_metadata_from_package(model.package.string(), "backward");
        sources_ = sourcesFrom(metadata["backward_inputs"]);
    } catch (const c10::OutOfMemoryError&) {
        throw;
    } catch (const std::exception& error) {
        model.remove();
        throw Error{.what = c10::str("the compiled model cannot be loaded (", condensed(error.what()), ")"),
                    .where = model.package.string(),
                    .remedy = "run the point again: the file is removed, so the model is compiled again",
                    .kind = ErrorKind::Failure};
    }
}

CompiledPasses::~CompiledPasses() = default;

std::unique_ptr<CompiledPasses::Loader> CompiledPasses::loaded(const CompiledModel& model, const char* name,
                                                               const Device& device)
{
    // With several threads, AOTInductor queries events, which CUDA forbids during a capture.
    constexpr bool kSingleThreaded = true;
    constexpr std::size_t kRunners = 1;
    return std::make_unique<Loader>(model.package.string(), name, kSingleThreaded, kRunners,
                                    device.isCuda() ? device.torch().index() : c10::DeviceIndex(-1));
}

/// \param text  `p0 s1 s2 g`; see export.py
std::vector<CompiledPasses::Source> CompiledPasses::sourcesFrom(const std::string& text)
{
    std::vector<Source> sources;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        Source source{.kind = word[0] == 'p'   ? Source::Kind::Input
                              : word[0] == 's' ? Source::Kind::Saved
                                               : Source::Kind::Gradient};
        std::from_chars(word.data() + 1, word.data() + word.size(), source.index);
        sources.push_back(source);
    }
    return sources;
}

CompiledPasses::Tensors CompiledPasses::forward(const Tensors& inputs)
{
    return forward_->run(inputs);
}

CompiledPasses::Tensors CompiledPasses::backward(const Tensors& inputs, Tensors&& saved,
                                                 const at::Tensor& gradient)
{
    Tensors given;
    for (const Source& source : sources_)
        given.push_back(source.kind == Source::Kind::Input   ? inputs.at(source.index)
                        : source.kind == Source::Kind::Saved ? saved.at(source.index)
                                                             : gradient);
    saved.clear();
    return backward_->boxed_run(std::move(given));
}

} // namespace tilescope::engine
