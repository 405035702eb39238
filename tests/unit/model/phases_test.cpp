#include "core/model/phases.h"

#include <gtest/gtest.h>

#include <string>

namespace tilescope {

namespace {

/// The phases by their first letters, in the order of Phase.
std::string phasesOf(Workload workload, Mode mode)
{
    std::string letters;
    for (const auto& [phase, letter] :
         {std::pair(Phase::Step, 's'), std::pair(Phase::Forward, 'f'), std::pair(Phase::Loss, 'l'),
          std::pair(Phase::Backward, 'b'), std::pair(Phase::Optimizer, 'o'),
          std::pair(Phase::Collective, 'c'), std::pair(Phase::Prefill, 'p'), std::pair(Phase::Decode, 'd'),
          std::pair(Phase::Sample, 'm')})
        if (hasPhase(workload, mode, phase))
            letters += letter;
    return letters;
}

} // namespace

TEST(Phases, AreThoseOfWorkloadAndMode)
{
    EXPECT_EQ(phasesOf(Workload::Lm, Mode::Forward), "sf");
    EXPECT_EQ(phasesOf(Workload::Lm, Mode::Both), "sflb");
    EXPECT_EQ(phasesOf(Workload::Lm, Mode::Train), "sflbo");
    EXPECT_EQ(phasesOf(Workload::Lm, Mode::Generate), "spdm");
    EXPECT_EQ(phasesOf(Workload::Attention, Mode::Forward), "sf");
    EXPECT_EQ(phasesOf(Workload::Attention, Mode::Backward), "sfb");
    EXPECT_EQ(phasesOf(Workload::Attention, Mode::Both), "sfb");
    EXPECT_EQ(phasesOf(Workload::Collective, Mode::Both), "sc");
}

} // namespace tilescope
