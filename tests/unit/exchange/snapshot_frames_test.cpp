#include "core/exchange/import/snapshot_frames.h"

#include <gtest/gtest.h>

namespace tilescope::exchange {

TEST(SnapshotFrames, AreTextsAndBack)
{
    const std::string path =
        frameText("<module>", "/home/x/train.py", 96) + "/" +
        frameText("convert", "/usr/lib/python3/dist-packages/torch/nn/modules/module.py", 1370) + "/" +
        frameText("at::_ops::mm::call(at::Tensor const&)", "??", 0);
    const std::vector<SnapshotFrame> frames = framesOf(path);
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_EQ(frames[2].name, "<module>");
    EXPECT_EQ(frames[2].file, "/home/x/train.py");
    EXPECT_EQ(frames[2].line, 96);
    EXPECT_EQ(frames[1].file, "torch/nn/modules/module.py");
    EXPECT_EQ(frames[0].name, "at::_ops::mm::call(at::Tensor const&)");
    EXPECT_EQ(opOfFrame(frames[0].name), "aten::mm");
    EXPECT_EQ(opOfFrame("convert"), "");
}

TEST(SnapshotFrames, OfTheProgramComeBeforeThoseOfLibraries)
{
    const std::string path =
        frameText("_run_module", "/usr/lib/python3.11/runpy.py", 88) + "/" +
        frameText("<module>", "/home/x/train.py", 96) + "/" +
        frameText("_call", "/v/lib/python3.11/site-packages/torch/nn/modules/module.py", 1370) + "/" +
        frameText("forward", "/home/x/model.py", 24) + "/" +
        frameText("forward", "/v/lib/python3.11/site-packages/transformers/llama.py", 77) + "/" +
        frameText("at::_ops::mm::call(at::Tensor const&)", "??", 0);
    EXPECT_EQ(stackName(path), "model.py:24 forward → at::_ops::mm::call(at::Tensor const&)");
    EXPECT_EQ(stackName(frameText("<module>", "/home/x/train.py", 96)), "train.py:96 <module>");
    EXPECT_EQ(stackName("step/forward/layers.3/ffn"), "") << "a path of ranges";
    const ReadableStack stack = userFramesFirst(path);
    ASSERT_EQ(stack.frames.size(), 6u);
    EXPECT_EQ(stack.own, 2u);
    EXPECT_EQ(
        stackLine(path),
        "/home/x/model.py:24 forward < /home/x/train.py:96 <module>; library: at::_ops::mm::call(at::Tensor "
        "const&) < transformers/llama.py:77 forward < torch/nn/modules/module.py:1370 _call < "
        "/usr/lib/python3.11/runpy.py:88 _run_module");
    EXPECT_EQ(stackLine("step/forward/layers.3"), "step/forward/layers.3") << "ranges are no frames";
    EXPECT_EQ(userFramesFirst(frameText("forward", "/v/site-packages/torch/nn/linear.py", 1)).own, 0u);
}

TEST(SnapshotFrames, OfTheInterpreterAreMachinery)
{
    const std::vector<SnapshotFrame> kept{
        {"at::_ops::mm::call(at::Tensor const&, at::Tensor const&)", "??", 0},
        {"forward", "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py", 134},
        {"objects", "/home/x/Python/objects.py", 3},
        {"<module>", "train.py", 1}};
    for (const SnapshotFrame& frame : kept)
        EXPECT_FALSE(isMachinery(frame)) << frame.name;
    const std::vector<SnapshotFrame> left{
        {"torch::unwind::unwind()", "??", 0},
        {"torch::CapturedTraceback::gather(bool, bool, bool)", "??", 0},
        {"c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned long)", "", 0},
        {"_PyEval_EvalFrameDefault", "/usr/local/src/conda/python-3.10.14/Python/ceval.c", 2003},
        {"_PyObject_VectorcallTstate", "/x/Include/cpython/abstract.h", 114},
        {"PyRun_StringFlags", "??", 0},
        {"at::(anonymous namespace)::wrapper_CUDA_mul_Tensor(at::Tensor const&)", "RegisterCUDA.cpp", 0},
        {"__libc_start_main", "??", 0},
        {"_start", "??", 0}};
    for (const SnapshotFrame& frame : left)
        EXPECT_TRUE(isMachinery(frame)) << frame.name;
}

} // namespace tilescope::exchange
