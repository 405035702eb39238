#include "app/cli/commands.h"

#include <array>

namespace tilescope::cli {

namespace {

constexpr std::array kVerbs{
    Verb{"--batch", batchCommand, "run a spec file or a study", "tilescope --batch sweep.yaml -o a.tscope"},
    Verb{"run", runCommand, "run one experiment", "tilescope run lm --size tiny --device cpu -o a.tscope"},
    Verb{"compile", compileCommand, "compile the models of compile: inductor",
         "tilescope compile sweep.yaml --set compile=inductor"},
    Verb{"record", recordCommand, "run another program and record it",
         "tilescope record -o t.tscope -- python train.py"},
    Verb{"show", showCommand, "print tables of a file", "tilescope show a.tscope kernels --group family"},
    Verb{"compare", compareCommand, "compare two runs", "tilescope compare a.tscope:1 a.tscope:2"},
    Verb{"report", reportCommand, "write tables, figures and findings of studies",
         "tilescope report all.tscope -o writeup"},
    Verb{"export", exportCommand, "write a run in the format of another tool",
         "tilescope export a.tscope --perfetto a.pftrace"},
    Verb{"share", shareCommand, "write a page that shows runs in any browser, without a network",
         "tilescope share a.tscope -o a.html"},
    Verb{"import", importCommand, "read traces and memory snapshots of other tools",
         "tilescope import rank0.json.gz rank1.json.gz -o t.tscope"},
    Verb{"sql", sqlCommand, "print the rows of a SELECT statement",
         "tilescope sql a.tscope 'select name, seconds from runs'"},
    Verb{"cache", cacheCommand, "list or remove the recordings of imported files", "tilescope cache"},
    Verb{"merge", mergeCommand, "copy several files into one",
         "tilescope merge s0.tscope s1.tscope -o all.tscope"},
    Verb{"replay", replayCommand, "measure an op of a recording alone",
         "tilescope replay a.tscope --op aten::mm"},
    Verb{"verify", verifyCommand, "check every count and checksum of a file", "tilescope verify all.tscope"},
    Verb{"note", noteCommand, "set the note of a run", "tilescope note a.tscope 3 'fan was loud'"},
    Verb{"tag", tagCommand, "set the tag of a run", "tilescope tag a.tscope 3 baseline"},
    Verb{"delete", deleteCommand, "remove runs from a file", "tilescope delete a.tscope 3 4"},
    Verb{"compact", compactCommand, "reclaim the space of deleted runs", "tilescope compact a.tscope"},
    Verb{"studies", studiesCommand, "list the ready-made sweeps", "tilescope studies"},
    Verb{"presets", presetsCommand, "list the model sizes", "tilescope presets"},
    Verb{"hosts", hostsCommand, "list, add, examine or remove other machines",
         "tilescope hosts add gpubox --address me@10.0.4.17"},
    Verb{"completion", completionCommand, "print the completions of a shell", "tilescope completion bash"},
    Verb{"serve", serveCommand, "answer a Tilescope on another machine", "tilescope serve --stdio"},
    Verb{"doctor", doctorCommand, "check what this machine supports", "tilescope doctor"},
};

} // namespace

std::span<const Verb> verbs()
{
    return kVerbs;
}

} // namespace tilescope::cli
