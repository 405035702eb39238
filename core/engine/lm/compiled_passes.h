#pragma once

#include "core/engine/lm/compiled_model.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace torch::inductor {
class AOTIModelPackageLoader;
}

namespace tilescope::engine {

/// The loaded models of a CompiledModel's package, with the connection from forward's outputs to backward's
/// inputs. Session thread. Runs on the current stream, so that CUDA graphs can capture it.
class CompiledPasses {
public:
    using Tensors = std::vector<at::Tensor>;

    /// \throws Error  the package cannot be loaded; it is removed, so that the next run compiles the model again
    CompiledPasses(const CompiledModel& model, const Device& device, bool hasBackward);
    ~CompiledPasses();
    CompiledPasses(const CompiledPasses&) = delete;
    CompiledPasses& operator=(const CompiledPasses&) = delete;

    /// \return  the loss or the logits, then the tensors for backward
    Tensors forward(const Tensors& inputs);

    /// \param inputs    the inputs of forward
    /// \param saved     the result of forward; its tensors are released when they are no longer needed
    /// \param gradient  the gradient of the loss
    /// \return          the gradients of the parameters
    Tensors backward(const Tensors& inputs, Tensors&& saved, const at::Tensor& gradient);

private:
    using Loader = torch::inductor::AOTIModelPackageLoader;

    /// Where an input of backward comes from.
    struct Source {
        enum class Kind { Input, Saved, Gradient } kind = Kind::Gradient;
        std::size_t index = 0;
    };
    static std::vector<Source> sourcesFrom(const std::string& text);
    static std::unique_ptr<Loader> loaded(const CompiledModel& model, const char* name, const Device& device);

    std::unique_ptr<Loader> forward_;
    std::unique_ptr<Loader> backward_;
    std::vector<Source> sources_;
};

} // namespace tilescope::engine
