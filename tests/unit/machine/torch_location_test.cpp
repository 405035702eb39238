#include "core/machine/torch_location.h"

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

namespace tilescope::machine {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

namespace fs = std::filesystem;

/// A folder that resembles site-packages with a torch wheel.
class TorchLocationTest : public ::testing::Test {
protected:
    void makeTorch(const std::string& version, bool cuda = true)
    {
        const fs::path lib = folder / "site" / "torch" / "lib";
        fs::create_directories(lib);
        if (!fs::exists(lib / "libtorch_cpu.so"))
            std::ofstream(lib / "libtorch_cpu.so") << "not really";
        if (cuda)
            std::ofstream(lib / "libtorch_cuda.so") << "not really";
        std::ofstream(folder / "site" / "torch" / "version.py")
            << "__all__ = ['__version__', 'debug']\n__version__ = '" << version << "'\ndebug = False\n";
        setenv("TILESCOPE_TORCH", (folder / "site" / "torch").c_str(), 1);
    }
    void SetUp() override { setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1); }
    void TearDown() override
    {
        unsetenv("TILESCOPE_TORCH");
        unsetenv("XDG_CACHE_HOME");
        setenv("PATH", path.c_str(), 1);
    }

    /// Puts a python3 that would import torch from `folder` in front of the real one.
    void makePython(const fs::path& torch)
    {
        fs::create_directories(folder / "bin");
        std::ofstream(folder / "bin" / "python3") << "#!/bin/sh\necho '" << torch.string() << "'\n";
        fs::permissions(folder / "bin" / "python3", fs::perms::owner_all);
        setenv("PATH", ((folder / "bin").string() + ":" + path).c_str(), 1);
    }

    template <class Function> static std::string refusal(Function find)
    {
        try {
            find();
        } catch (const Error& error) {
            EXPECT_EQ(error.exitCode(), 4);
            return error.sentence();
        }
        return {};
    }

    struct Folder : testing::TemporaryFolder {
        fs::path operator/(const std::string& name) const
        {
            return testing::TemporaryFolder::operator/(name);
        }
    } folder;
    const std::string path = std::getenv("PATH");
};

} // namespace

TEST_F(TorchLocationTest, IsNoneIfTheVariableIsUnset)
{
    unsetenv("TILESCOPE_TORCH");
    EXPECT_FALSE(torchFromEnvironment());
}

TEST_F(TorchLocationTest, ReadsTheVersionAndNamesTheLibraryFolders)
{
    makeTorch("2.11.0+cu130");
    fs::create_directories(folder / "site" / "nvidia" / "cu13" / "lib");
    fs::create_directories(folder / "site" / "nvidia" / "cudnn" / "lib");
    fs::create_directories(folder / "site" / "nvidia" / "empty");
    const TorchLocation torch = torchFromEnvironment().value();
    EXPECT_EQ(torch.version, "2.11.0+cu130");
    EXPECT_THAT(torch.libraryFolders(),
                ElementsAre(folder / "site" / "torch" / "lib", folder / "site" / "nvidia" / "cu13" / "lib",
                            folder / "site" / "nvidia" / "cudnn" / "lib"));
}

TEST_F(TorchLocationTest, FindsTheWheelsBesideTheTargetOfALink)
{
    makeTorch("2.11.0");
    fs::create_directories(folder / "site" / "nvidia" / "cu13" / "lib");
    fs::create_directory_symlink(folder / "site" / "torch", folder / "link");
    setenv("TILESCOPE_TORCH", (folder / "link").c_str(), 1);
    EXPECT_THAT(torchFromEnvironment()->libraryFolders(),
                ElementsAre(folder / "link" / "lib", folder / "site" / "nvidia" / "cu13" / "lib"));
}

TEST_F(TorchLocationTest, PutsItsFoldersBeforeExistingOnes)
{
    makeTorch("2.11.0");
    setenv("LD_LIBRARY_PATH", "/opt/lib", 1);
    EXPECT_EQ(libraryPathWith(*torchFromEnvironment()),
              (folder / "site" / "torch" / "lib").string() + ":/opt/lib");
    setenv("LD_LIBRARY_PATH", ":/opt/lib:lib;.", 1); // the dynamic linker would look into the current folder
    EXPECT_EQ(libraryPathWith(*torchFromEnvironment()),
              (folder / "site" / "torch" / "lib").string() + ":/opt/lib");
    unsetenv("LD_LIBRARY_PATH");
    EXPECT_EQ(libraryPathWith(*torchFromEnvironment()), (folder / "site" / "torch" / "lib").string());
}

TEST_F(TorchLocationTest, RefusesAnotherVersionInOneSentence)
{
    makeTorch("2.10.1+cu128");
    EXPECT_THAT(refusal(torchFromEnvironment), HasSubstr("has torch 2.10.1+cu128; Tilescope needs 2.11"));
    makeTorch("2.1.1");
    EXPECT_THAT(refusal(torchFromEnvironment), HasSubstr("has torch 2.1.1"));
}

TEST_F(TorchLocationTest, RefusesATorchWithoutCudaAndAFolderWithoutTorch)
{
    makeTorch("2.11.0+cpu", false);
    EXPECT_THAT(refusal(torchFromEnvironment), HasSubstr("without CUDA"));
    setenv("TILESCOPE_TORCH", "/nonexistent", 1);
    EXPECT_THAT(refusal(torchFromEnvironment), HasSubstr("has no LibTorch"));
}

TEST_F(TorchLocationTest, PrefersPythonsTorchToThatOfTheSetUp)
{
    makeTorch("2.11.0+cu130");
    unsetenv("TILESCOPE_TORCH");
    makePython(folder / "site" / "torch");
    const fs::path setUp = folder / "cache" / "tilescope" / "current" / "venv" / "lib" / "python3.11";
    fs::create_directories(setUp / "site-packages");
    fs::copy(folder / "site" / "torch", setUp / "site-packages" / "torch", fs::copy_options::recursive);
    EXPECT_EQ(findTorch().value().foundBy, "python3");
    makePython("");
    EXPECT_EQ(findTorch().value().folder, setUp / "site-packages" / "torch");
    fs::remove_all(folder / "cache");
    EXPECT_FALSE(findTorch());
}

TEST_F(TorchLocationTest, TakesNothingFromTheCurrentFolder)
{
    makeTorch("2.11.0+cu130");
    unsetenv("TILESCOPE_TORCH");
    // A folder whose programs, modules and LibTorch would all run if anything looked there.
    const fs::path hostile = folder / "hostile";
    fs::create_directories(hostile / "lib");
    fs::copy(folder / "site" / "torch", hostile / "torch", fs::copy_options::recursive);
    const std::string mark = (folder / "executed").string();
    for (const char* program : {"python3", "sh", "lib/python3"}) {
        std::ofstream(hostile / program) << "#!/bin/sh\necho " << program << " >>'" << mark << "'\necho '"
                                         << (hostile / "torch").string() << "'\n";
        fs::permissions(hostile / program, fs::perms::owner_all);
    }
    for (const char* module : {"sitecustomize", "usercustomize", "importlib", "os", "sys", "torch/__init__"})
        std::ofstream(hostile / (std::string(module) + ".py"))
            << "open('" << mark << "', 'a').write('" << module << "\\n')\n";
    const fs::path before = fs::current_path();
    fs::current_path(hostile);
    for (const char* relative : {":", ".:", "lib:", "./lib:"}) {
        setenv("PATH", (relative + path + ":").c_str(), 1);
        for (const char* modules : {"", ":", ".", "lib:.:"}) {
            setenv("PYTHONPATH", modules, 1);
            if (const auto found = findTorch()) {
                EXPECT_EQ(found->folder.string().find(folder.path().string()), std::string::npos)
                    << found->folder << ", PATH " << relative << ", PYTHONPATH " << modules;
            }
        }
    }
    unsetenv("PYTHONPATH");
    fs::current_path(before);
    EXPECT_FALSE(fs::exists(mark)) << std::ifstream(mark).rdbuf();
}

TEST_F(TorchLocationTest, FindsTheTorchOfPythonPath)
{
    makeTorch("2.11.0+cu130");
    unsetenv("TILESCOPE_TORCH");
    std::ofstream(folder / "site" / "torch" / "__init__.py") << '\n';
    setenv("PYTHONPATH", (":" + (folder / "site").string()).c_str(), 1);
    EXPECT_EQ(findTorch()->folder, folder / "site" / "torch");
    unsetenv("PYTHONPATH");
}

TEST_F(TorchLocationTest, GivesTheReasonForRejectingEachTorch)
{
    makeTorch("2.10.0+cu128");
    unsetenv("TILESCOPE_TORCH");
    makePython(folder / "site" / "torch");
    const std::string sentence = refusal(findTorch);
    EXPECT_THAT(sentence, HasSubstr((folder / "site" / "torch").string() +
                                    ", found by python3, has torch 2.10.0+cu128; Tilescope needs 2.11"));
    EXPECT_THAT(sentence, HasSubstr("TILESCOPE_TORCH"));
}

TEST_F(TorchLocationTest, RefusesAnUnreadableFolder)
{
    // Root ignores permissions; a link to itself fails for everybody.
    fs::create_symlink(folder / "loop", folder / "loop");
    setenv("TILESCOPE_TORCH", (folder / "loop").c_str(), 1);
    EXPECT_THAT(refusal(torchFromEnvironment),
                HasSubstr("loop: cannot be read (Too many levels of symbolic links)"));
}

TEST_F(TorchLocationTest, RefusesAnotherVersionThatTheLoaderFound)
{
    EXPECT_NO_THROW(requireLoadedTorch()); // this program links none
    makeTorch("2.10.0+cu128");
    const fs::path library = folder / "site" / "torch" / "lib" / "libtorch_cpu.so";
    Dl_info libm{};
    ASSERT_NE(dladdr(reinterpret_cast<void*>(static_cast<double (*)(double)>(std::cos)), &libm), 0);
    fs::copy_file(libm.dli_fname, library, fs::copy_options::overwrite_existing);
    void* loaded = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
    ASSERT_TRUE(loaded) << dlerror();
    EXPECT_THAT(refusal(requireLoadedTorch),
                HasSubstr("the loaded LibTorch is 2.10.0+cu128; Tilescope needs 2.11"));
    makeTorch("2.11.1");
    EXPECT_NO_THROW(requireLoadedTorch());
    fs::remove(folder / "site" / "torch" / "version.py"); // as LibTorch's own archives are
    EXPECT_NO_THROW(requireLoadedTorch());
    dlclose(loaded);
}

} // namespace tilescope::machine
