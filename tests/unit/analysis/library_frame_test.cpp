#include "core/analysis/memory/library_frame.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {

struct Frame {
    const char* function;
    const char* file;
};

class OwnFrames : public ::testing::TestWithParam<Frame> {};
class LibraryFrames : public ::testing::TestWithParam<Frame> {};

TEST_P(OwnFrames, AreOfTheProgram)
{
    EXPECT_FALSE(isLibraryFrame(GetParam().function, GetParam().file));
}

TEST_P(LibraryFrames, AreNotOfTheProgram)
{
    EXPECT_TRUE(isLibraryFrame(GetParam().function, GetParam().file));
}

TEST(ProfilerFrame, IsOfTheProgramUnlessItsFileIsALibrary)
{
    EXPECT_FALSE(isLibraryFrame("train.py(96): step"));
    EXPECT_FALSE(isLibraryFrame("/home/x/a (copy).py(3): f(x)"));
    EXPECT_FALSE(isLibraryFrame("<ipython-input-3-1234>(1): <module>"));
    EXPECT_FALSE(isLibraryFrame("nn.Module: Linear_3"));
    EXPECT_FALSE(isLibraryFrame(""));
    EXPECT_FALSE(isLibraryFrame("): "));
    EXPECT_TRUE(isLibraryFrame("torch/nn/modules/linear.py(114): forward"));
    EXPECT_TRUE(isLibraryFrame("transformers/trainer.py(2118): train"));
    EXPECT_TRUE(isLibraryFrame("threading.py(971): run"));
    EXPECT_TRUE(isLibraryFrame("logging/__init__.py(1500): info"));
    EXPECT_FALSE(isLibraryFrame("models/transformers.py(3): forward"));
    EXPECT_FALSE(isLibraryFrame("/home/x/transformers/trainer.py(3): train")) << "a checkout of one's own";
    EXPECT_FALSE(isLibraryFrame("threading_test.py(3): run"));
    EXPECT_FALSE(isLibraryFrame("code/train.py(3): run"));
    EXPECT_TRUE(isLibraryFrame("<frozen runpy>(88): _run_code"));
    EXPECT_TRUE(isLibraryFrame("<built-in method linear of type object at 0x7f>"));
}

// As memory snapshots of PyTorch 2.3 to 2.11 name them.
INSTANTIATE_TEST_SUITE_P(
    Snapshots, OwnFrames,
    ::testing::Values(Frame{"<module>", "train.py"}, Frame{"forward", "/home/x/src/model.py"},
                      Frame{"forward", "main/model.py"}, Frame{"<module>", "/tmp/ipykernel_4711/88.py"},
                      Frame{"<module>", "<ipython-input-3-1234>"}, Frame{"<module>", "<stdin>"},
                      Frame{"step", "/home/x/python3/train.py"}, Frame{"step", "/home/x/mytorch/train.py"},
                      Frame{"fused::forward(at::Tensor const&)", "/home/x/csrc/fused.cpp"},
                      Frame{"my::forward(at::Tensor const&)", "??"},
                      Frame{"at::Tensor launch<float>(at::Tensor const&, std::vector<int>)", "??"},
                      Frame{"(anonymous namespace)::scale(at::Tensor)", "/home/x/csrc/scale.cu"},
                      Frame{"std::vector<at::Tensor> my::split(at::Tensor)", "??"}));

INSTANTIATE_TEST_SUITE_P(
    Snapshots, LibraryFrames,
    ::testing::Values(Frame{"forward", "torch/nn/modules/linear.py"},
                      Frame{"forward", "site-packages/transformers/models/llama/modeling_llama.py"},
                      Frame{"call", "/usr/lib/python3/dist-packages/torch/nn/modules/module.py"},
                      Frame{"run", "/usr/lib/python3.11/threading.py"},
                      Frame{"inner", "/opt/conda/lib/python3.10/contextlib.py"},
                      Frame{"_run_code", "<frozen runpy>"}, Frame{"forward", "<eval_with_key>.5"},
                      Frame{"at::_ops::mm::call(at::Tensor const&, at::Tensor const&)", "??"},
                      Frame{"at::_ops::mm::call(at::Tensor const&)", "/pytorch/build/aten/src/ATen/Op.cpp"},
                      Frame{"void at::native::gpu_kernel<f(int)>(at::TensorIteratorBase&)", "??"},
                      Frame{"at::(anonymous namespace)::structured_mm::set_output(long)", ""},
                      Frame{"c10::intrusive_ptr<c10::StorageImpl>::reset_()", "??"},
                      Frame{"torch::autograd::Engine::thread_main(bool)", "??"},
                      Frame{"std::function<void ()>::operator()() const", "??"},
                      Frame{"cublasLtMatmul", "??"}, Frame{"start_thread", "./nptl/pthread_create.c"},
                      Frame{"clone3", "../sysdeps/unix/sysv/linux/x86_64/clone3.S"}, Frame{"ffi_call", "??"},
                      Frame{"main", ""}));

} // namespace tilescope::analysis
