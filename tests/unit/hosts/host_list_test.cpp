#include "core/hosts/host_list.h"

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace tilescope::hosts {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class HostLists : public ::testing::Test {
protected:
    HostList list() const { return HostList(folder / "tilescope/hosts.json", folder / "config"); }
    std::string refusalOf(Host host) const
    {
        HostList all = list();
        try {
            all.add(std::move(host));
        } catch (const Error& error) {
            EXPECT_EQ(error.exitCode(), 2);
            return error.sentence();
        }
        return "no error";
    }

    testing::TemporaryFolder folder;
};

TEST_F(HostLists, KeepWhatWasAdded)
{
    HostList before = list();
    before.add({.name = "cluster",
                .kind = HostKind::Slurm,
                .address = "me@login.example",
                .setUp = {"module load cuda", "echo 'a b'"},
                .sbatch = {"--partition=gpu"}});
    before.save();
    EXPECT_EQ(fs::status(folder / "tilescope/hosts.json").permissions(), fs::perms(0600));
    const Host host = list().get("cluster");
    EXPECT_EQ(host.kind, HostKind::Slurm);
    EXPECT_EQ(host.address, "me@login.example");
    EXPECT_THAT(host.setUp, ElementsAre("module load cuda", "echo 'a b'"));
    EXPECT_THAT(host.sbatch, ElementsAre("--partition=gpu"));
}

TEST_F(HostLists, ReplaceAndRemoveByName)
{
    HostList all = list();
    all.add({.name = "box", .address = "one"});
    all.add({.name = "box", .address = "two"});
    ASSERT_EQ(all.hosts().size(), 1u);
    EXPECT_EQ(all.get("box").address, "two");
    all.remove("box");
    EXPECT_TRUE(all.hosts().empty());
    EXPECT_THROW(all.remove("box"), Error);
}

TEST_F(HostLists, TakeNamesFromSshConfigButNoPatterns)
{
    fs::create_directory(folder / "more.d");
    std::ofstream(folder / "more.d/one") << "host=third\n";
    std::ofstream(folder / "config")
        << "# Host commented\nHost first second *.example !no ?x -dash\n  User me\n"
           "Include more.d/*\nHOST first\nInclude config\n";
    EXPECT_THAT(list().sshNames(), ElementsAre("first", "second", "third"));
    EXPECT_FALSE(list().get("second").isStored);
    try {
        list().get("secnod");
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("did you mean 'second'?"));
    }
}

TEST_F(HostLists, RefuseWhatSshOrAShellCouldMisread)
{
    EXPECT_THAT(refusalOf({.name = "-oProxyCommand"}), HasSubstr("not a name for a host"));
    EXPECT_THAT(refusalOf({.name = "a b"}), HasSubstr("not a name for a host"));
    EXPECT_THAT(refusalOf({.name = ""}), HasSubstr("not a name for a host"));
    EXPECT_THAT(refusalOf({.name = "a", .address = "-oProxyCommand=x"}), HasSubstr("not the address"));
    EXPECT_THAT(refusalOf({.name = "a", .address = "me@-x"}), HasSubstr("not the address"));
    EXPECT_THAT(refusalOf({.name = "a", .address = "-me@x"}), HasSubstr("not the address"));
    EXPECT_THAT(refusalOf({.name = "a", .address = "host;reboot"}), HasSubstr("not the address"));
    EXPECT_THAT(refusalOf({.name = "a", .setUp = {"one\ntwo"}}), HasSubstr("control characters"));
    EXPECT_THAT(refusalOf({.name = "a", .sbatch = {"--x"}}), HasSubstr("--kind slurm"));
    EXPECT_THAT(refusalOf({.name = "a", .kind = HostKind::Slurm, .sbatch = {"--array=0-3"}}),
                HasSubstr("an array"));
    EXPECT_THAT(refusalOf({.name = "a", .kind = HostKind::Slurm, .sbatch = {"--wrap=id"}}),
                HasSubstr("an option of its own"));
    EXPECT_THAT(refusalOf({.name = "a", .kind = HostKind::Slurm, .sbatch = {"--wait-all-nodes=1"}}),
                HasSubstr("no error"));
    EXPECT_THAT(refusalOf({.name = "a", .kind = HostKind::Slurm, .tasks = 0}), HasSubstr("number of tasks"));
    EXPECT_THAT(refusalOf({.name = "a", .tasks = 4}), HasSubstr("--kind slurm"));
    EXPECT_THAT(refusalOf({.name = "a", .isLocal = true}), HasSubstr("without --on"));
    EXPECT_THAT(refusalOf({.name = "a", .kind = HostKind::Slurm, .address = "b", .isLocal = true}),
                HasSubstr("no address"));
}

TEST_F(HostLists, RefuseAFileThatOthersMayWriteOrThatIsDamaged)
{
    fs::create_directory(folder / "tilescope");
    std::ofstream(folder / "tilescope/hosts.json") << "{\"hosts\": 3}";
    EXPECT_THROW(list(), Error);
    std::ofstream(folder / "tilescope/hosts.json") << "{\"hosts\": [{\"name\": \"-x\"}]}";
    EXPECT_THROW(list(), Error);
    std::ofstream(folder / "tilescope/hosts.json") << "{\"hosts\": []}";
    EXPECT_NO_THROW(list());
    fs::permissions(folder / "tilescope/hosts.json", fs::perms(0622));
    EXPECT_THROW(list(), Error);
}

} // namespace tilescope::hosts
