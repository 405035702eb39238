#include "core/engine/lm/compiled_model.h"

#include "core/base/error.h"
#include "core/engine/common/device.h"
#include "core/engine/run/engine.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/engine/fixtures.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/version.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

// What needs no Python; tests/studies/inductor compiles models.

namespace tilescope::engine {
namespace {

namespace fs = std::filesystem;

/// The user's cache is a new folder.
class CompiledModels : public ::testing::Test {
protected:
    void SetUp() override { setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }
    void TearDown() override
    {
        unsetenv("XDG_CACHE_HOME");
        unsetenv("TILESCOPE_PYTHON");
    }
    /// A program in place of Python.
    void setPython(const std::string& script)
    {
        const fs::path python = folder_ / "python";
        std::ofstream(python) << "#!/bin/sh\n" << script << '\n';
        fs::permissions(python, fs::perms::owner_all);
        setenv("TILESCOPE_PYTHON", python.c_str(), 1);
    }
    fs::path models() const { return folder_ / "tilescope" / "inductor"; }

    testing::TemporaryFolder folder_;
};

ExperimentSpec compiledSpec()
{
    ExperimentSpec spec = test::tinyLm();
    spec.compile.kind = CompileRequest::Kind::Inductor;
    spec.backend = Backend::Sdpa;
    return spec;
}

RunResult ran(const ExperimentSpec& spec)
{
    StringTable strings;
    Engine engine(strings);
    test::Recorder recorder;
    return engine.runPoint(spec, recorder, {});
}

TEST_F(CompiledModels, AreSkippedWithACommandWhereNoPythonCanCompile)
{
    setenv("TILESCOPE_PYTHON", "/no/such/python", 1);
    const RunResult absent = ran(compiledSpec());
    EXPECT_EQ(absent.status, RunStatus::Skipped);
    EXPECT_EQ(absent.reason,
              c10::str("this model is not compiled yet, and /no/such/python cannot be started (No "
                       "such file or directory); name a Python with torch ",
                       TORCH_VERSION, " in TILESCOPE_PYTHON, then run tilescope compile SPEC"));
    setPython("echo beginning >&2; echo 'it has no Triton; install it' >&2; exit 77");
    const RunResult unable = ran(compiledSpec());
    EXPECT_EQ(unable.status, RunStatus::Skipped);
    EXPECT_EQ(unable.reason,
              "this model is not compiled yet, and it has no Triton; install it, then run tilescope "
              "compile SPEC");
}

TEST_F(CompiledModels, KeepTheOutputOfACompilerThatFails)
{
    setPython("echo first; echo 'RuntimeError: no' >&2; exit 1");
    const RunResult failed = ran(compiledSpec());
    EXPECT_EQ(failed.status, RunStatus::Error);
    EXPECT_THAT(failed.reason,
                ::testing::HasSubstr("TorchInductor cannot compile this model (RuntimeError: no)"));
    ASSERT_EQ(std::distance(fs::directory_iterator(models()), {}), 1);
    const fs::path log = fs::directory_iterator(models())->path();
    EXPECT_THAT(failed.reason, ::testing::HasSubstr(log.string()));
    std::ifstream stream(log);
    std::string line;
    std::getline(stream, line);
    EXPECT_EQ(line, "first");
}

TEST_F(CompiledModels, AreNotMadeOnceAStopIsRequested)
{
    setPython("sleep 1000");
    StringTable strings;
    Engine engine(strings);
    test::Recorder recorder;
    std::stop_source source;
    source.request_stop();
    const RunResult result = engine.runPoint(compiledSpec(), recorder, source.get_token());
    EXPECT_EQ(result.status, RunStatus::Cancelled);
    EXPECT_THAT(recorder.states, ::testing::ElementsAre(PointState::Compile));
    EXPECT_TRUE(fs::is_empty(models()));
}

TEST_F(CompiledModels, RefuseWhatTorchInductorDoesNotDo)
{
    setenv("TILESCOPE_PYTHON", "/no/such/python", 1);
    const auto reason = [](auto change) {
        ExperimentSpec spec = compiledSpec();
        change(spec);
        const RunResult result = ran(spec);
        EXPECT_EQ(result.status, RunStatus::Skipped);
        return result.reason;
    };
    EXPECT_EQ(reason([](ExperimentSpec& spec) { spec.checkpointing.kind = Checkpointing::Kind::Block; }),
              "TorchInductor chooses itself what it recomputes, so compile: inductor does not support "
              "checkpointing: block");
    EXPECT_THAT(reason([](ExperimentSpec& spec) { spec.precision = Precision::Fp32x6; }),
                ::testing::HasSubstr("does not support precision: fp32x6"));
    EXPECT_THAT(reason([](ExperimentSpec& spec) { spec.backend = Backend::Flash; }),
                ::testing::HasSubstr("does not support backend: flash"));
    EXPECT_THAT(reason([](ExperimentSpec& spec) { spec.precision = Precision::Tf32; }),
                ::testing::HasSubstr("tf32 is a mode of NVIDIA tensor cores"));
}

/// With a program in place of Python that writes its description of the model as the package.
class Packages : public CompiledModels {
protected:
    void SetUp() override
    {
        CompiledModels::SetUp();
        setPython(R"(echo "$3" > "$4")");
    }
    CompiledModel model(const ExperimentSpec& spec)
    {
        return compiledModel(spec, device_, {}, [this] { ++made_; });
    }
    const Device device_{at::Device(at::kCPU)};
    int made_ = 0;
};

TEST_F(Packages, AreMadeOncePerModel)
{
    ExperimentSpec spec = compiledSpec();
    const CompiledModel first = model(spec);
    EXPECT_EQ(fs::status(first.package).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    ASSERT_EQ(first.notes().size(), 1U);
    EXPECT_EQ(first.notes()[0].key, kCompileTime);
    EXPECT_EQ(first.notes()[0].unit, "ms");
    spec.steps = 7;
    spec.seed = 3;
    spec.mode = Mode::Train;
    EXPECT_EQ(model(spec).package, first.package);
    EXPECT_EQ(made_, 1);
    std::set<fs::path> packages{first.package};
    const auto add = [&](auto change) {
        ExperimentSpec other = spec;
        change(other);
        packages.insert(model(other).package);
    };
    add([](ExperimentSpec& other) { other.precision = Precision::Bf16; });
    add([](ExperimentSpec& other) { other.backend = Backend::Naive; });
    add([](ExperimentSpec& other) { other.mode = Mode::Forward; });
    add([](ExperimentSpec& other) { other.loss = LossKind::CrossEntropy; });
    add([](ExperimentSpec& other) { other.batch += 1; });
    add([](ExperimentSpec& other) { other.context += 1; });
    add([](ExperimentSpec& other) { other.vocab += 1; });
    add([](ExperimentSpec& other) { other.dModel *= 2; });
    add([](ExperimentSpec& other) { other.dFf += 1; });
    add([](ExperimentSpec& other) { other.layers += 1; });
    add([](ExperimentSpec& other) { other.heads = 2; });
    add([](ExperimentSpec& other) { other.deterministic = true; });
    EXPECT_EQ(packages.size(), 13U);
    EXPECT_EQ(made_, 13);
    EXPECT_EQ(std::distance(fs::directory_iterator(first.package.parent_path()), {}), 2 * 13);
}

TEST_F(Packages, AreRefusedIfOthersCanChangeThem)
{
    const CompiledModel made = model(compiledSpec());
    fs::permissions(made.package, fs::perms::group_write, fs::perm_options::add);
    EXPECT_THROW(model(compiledSpec()), Error);
    made.remove();
    fs::create_symlink("/dev/null", made.package);
    EXPECT_THROW(model(compiledSpec()), Error);
}

TEST_F(Packages, ThatCannotBeLoadedAreRemoved)
{
    const RunResult result = ran(compiledSpec());
    EXPECT_EQ(result.status, RunStatus::Error);
    EXPECT_THAT(result.reason, ::testing::HasSubstr("the compiled model cannot be loaded"));
    EXPECT_TRUE(fs::is_empty(models()));
}

TEST_F(Packages, KeepNotes)
{
    const CompiledModel made = model(compiledSpec());
    made.store({{kCompileTime, "12", "ms"}, {kGradientError, "1e-07"}});
    ASSERT_EQ(made.notes().size(), 2U);
    EXPECT_EQ(made.notes()[1].value, "1e-07");
    EXPECT_EQ(made.notes()[1].unit, "");
    made.remove();
    EXPECT_TRUE(made.notes().empty());
}

} // namespace
} // namespace tilescope::engine
