#include "sentence.h"

#include <gtest/gtest.h>

namespace tilescope::config {

namespace {

struct BadSpec {
    std::string_view name;
    std::string_view yaml;
    std::string_view sentence;
};

void PrintTo(const BadSpec& bad, std::ostream* out)
{
    *out << bad.yaml;
}

// Wrong keys, and keys in wrong places.
const BadSpec kKeys[] = {
    {"KeyWithASlip", "workload: attention\nfixed: {batch: 8}\nbacth: 3\n",
     "s.yaml:3:1: unknown key 'bacth'; did you mean 'batch'? allowed here: name, workload, device, seed, "
     "mode, grad, "
     "loss, precision, backend, batch, warmup, steps, repeat, timing, trace_steps, trace, memory, shapes, "
     "counters, inside, "
     "compile, "
     "deterministic, isolate, timeout, memory_limit, threads, annotate_attention, heads, kv_heads, d_head, "
     "seq_len, "
     "kv_len, causal, tile_q, tile_k, fixed, sweep"},
    {"KeyWithASlipUnderFixed", "workload: attention\nfixed: {batch: 8, hedas: 3}\n",
     "s.yaml:2:19: unknown key 'hedas'; did you mean 'heads'? allowed here: name, …"},
    {"KeyWithASlipUnderSweep", "workload: lm\nsweep:\n  contxt: [1, 2]\n",
     "s.yaml:3:3: unknown key 'contxt'; did you mean 'context'? allowed here: …"},
    {"KeyWithASlipInAPoint", "workload: lm\nsweep:\n  - {size: tiny}\n  - {sizes: tiny}\n",
     "s.yaml:4:6: unknown key 'sizes'; did you mean 'size'? …"},
    {"KeyInCapitals", "workload: lm\nBatch: 3\n", "s.yaml:2:1: unknown key 'Batch'; did you mean 'batch'? …"},
    {"KeyWithAHyphen", "workload: attention\nd-head: 3\n",
     "s.yaml:2:1: unknown key 'd-head'; did you mean 'd_head'? …"},
    {"SectionWithASlip", "workload: attention\nsweeep: {batch: [1, 2]}\n",
     "s.yaml:2:1: unknown key 'sweeep'; did you mean 'sweep'? …"},
    {"KeyUnlikeAnyOther", "workload: attention\nfrobnicate: 3\n",
     "s.yaml:2:1: unknown key 'frobnicate'; allowed here: name, …"},
    {"KeyBehindOtherScripts", "workload: attention\nfixed: {name: \"é é\", bacth: 2}\n",
     "s.yaml:2:22: unknown key 'bacth'; did you mean …"},
    {"NoWorkload", "batch: 3\n",
     "s.yaml: the key 'workload' is missing; write workload: and one of attention, lm, accumulation, dtypes, "
     "products, collective"},
    {"WorkloadWithASlipInItsKey", "workloud: lm\n",
     "s.yaml:1:1: unknown key 'workloud'; did you mean 'workload'? …"},
    {"WorkloadWithASlip", "workload: atention\n",
     "s.yaml:1:11: unknown workload 'atention'; did you mean 'attention'? allowed: attention, lm, "
     "accumulation, "
     "dtypes, products, collective"},
    {"WorkloadSwept", "sweep: {workload: [lm, attention]}\n",
     "s.yaml:1:9: the key 'workload' cannot be swept; write it at top level or under fixed, with one value"},
    {"WorkloadInAPoint", "sweep:\n- {workload: lm}\n", "s.yaml:2:4: the key 'workload' cannot be swept; …"},
    {"NameSwept", "workload: lm\nsweep: {name: [a, b]}\n", "s.yaml:2:9: the key 'name' cannot be swept; …"},
    {"RepeatUnderSweep", "workload: lm\nsweep: {repeat: [1, 5]}\n",
     "s.yaml:2:9: the key 'repeat' cannot be swept; …"},
    {"RepeatOfNothing", "workload: lm\nrepeat: 0\n",
     "s.yaml:2:9: repeat is 0, out of range; allowed: 1 to 1,000"},
    {"RepeatBeyondAllRuns",
     "workload: lm\nrepeat: 1000\nsweep: {batch: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], "
     "context: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\n",
     "s.yaml:2:9: the sweep would take 110000 runs; at most 100000: repeat less, or split the sweep"},
    {"IsolateInAPoint", "workload: lm\nsweep: [{isolate: process}]\n",
     "s.yaml:2:10: the key 'isolate' cannot be swept; …"},
    {"KeyOfTheOtherWorkload", "workload: lm\nseq_len: 64\n",
     "s.yaml:2:1: the key 'seq_len' is not for workload lm; allowed here: name, …"},
    {"KeyOfTheOtherWorkloadSwept", "workload: attention\nsweep: {size: [tiny, small]}\n",
     "s.yaml:2:9: the key 'size' is not for workload attention; allowed here: name, …"},
    {"KeyOfARunInAStudyOfNumbers", "workload: dtypes\nbackend: naive\n",
     "s.yaml:2:1: the key 'backend' is not for workload dtypes; …"},
    {"KeyTwiceInAMap", "workload: lm\nbatch: 8\nsteps: 3\nbatch: 9\n",
     "s.yaml:4:1: the key 'batch' is given twice; it is given at line 2 already; remove one"},
    {"KeyTwiceInAFlowMap", "workload: lm\nfixed: {batch: 8, batch: 9}\n",
     "s.yaml:2:19: the key 'batch' is given twice; …"},
    {"SectionTwice", "workload: lm\nfixed: {batch: 8}\nfixed: {steps: 9}\n",
     "s.yaml:3:1: the key 'fixed' is given twice; …"},
    {"KeyAtTopLevelAndFixed", "workload: lm\nbatch: 8\nfixed: {batch: 9}\n",
     "s.yaml:3:9: the key 'batch' is given twice; it is given at line 2 already; give each key once: at "
     "top level, under fixed or under sweep"},
    {"KeyFixedAndSwept", "workload: lm\nfixed: {batch: 8}\nsweep: {batch: [1, 2]}\n",
     "s.yaml:3:9: the key 'batch' is given twice; it is given at line 2 already; …"},
    {"KeyFixedAndInAPoint", "workload: lm\nbatch: 8\nsweep: [{batch: 1}]\n",
     "s.yaml:3:10: the key 'batch' is given twice; …"},
    {"KeyInAPointAndThenFixed", "workload: lm\nsweep: [{batch: 1}]\nbatch: 8\n",
     "s.yaml:3:1: the key 'batch' is given twice; it is given at line 2 already; …"},
    {"NoColon", "workload: lm\nbatch 3\n", "s.yaml:2:1: no colon in 'batch 3'; write batch: 3"},
    {"MergeKey", "workload: lm\n<<: {batch: 3}\n",
     "s.yaml:2:1: YAML's merge key has no meaning here; write the keys out"},
};

// Wrong types and values.
const BadSpec kValues[] = {
    {"WordForAnInteger", "workload: lm\nbatch: many\n",
     "s.yaml:2:8: batch takes an integer, not 'many'; allowed: 1 to 65,536"},
    {"FractionForAnInteger", "workload: lm\nsteps: 2.5\n",
     "s.yaml:2:8: steps takes an integer, not '2.5'; allowed: 1 to 1,000,000"},
    {"WholeFractionForAnInteger", "workload: lm\nsteps: 2.0\n",
     "s.yaml:2:8: steps takes an integer, not '2.0'; write 2; allowed: 1 to 1,000,000"},
    {"ExponentForAnInteger", "workload: lm\nsteps: 1e3\n",
     "s.yaml:2:8: steps takes an integer, not '1e3'; write 1000; allowed: …"},
    {"UnderscoresInAnInteger", "workload: attention\nseq_len: 16_384\n",
     "s.yaml:2:10: seq_len takes an integer, not '16_384'; write 16384; allowed: 1 to 1,048,576"},
    {"PlusBeforeAnInteger", "workload: lm\nsteps: +5\n",
     "s.yaml:2:8: steps takes an integer, not '+5'; write 5; …"},
    {"LeadingZero", "workload: lm\nsteps: 010\n",
     "s.yaml:2:8: steps takes an integer, not '010'; write 10; …"},
    {"HexadecimalInteger", "workload: lm\nsteps: 0x10\n",
     "s.yaml:2:8: steps takes an integer, not '0x10'; allowed: 1 to 1,000,000"},
    {"IntegerInQuotes", "workload: lm\nbatch: \"8\"\n",
     "s.yaml:2:8: batch takes an integer, not the text '8'; remove the quotes; allowed: 1 to 65,536"},
    {"BooleanForAnInteger", "workload: lm\nbatch: true\n",
     "s.yaml:2:8: batch takes an integer, not 'true'; allowed: 1 to 65,536"},
    {"AutoWhereThereIsNone", "workload: lm\nbatch: auto\n",
     "s.yaml:2:8: batch takes an integer, not 'auto'; allowed: 1 to 65,536"},
    {"TooSmall", "workload: lm\nbatch: 0\n", "s.yaml:2:8: batch is 0, out of range; allowed: 1 to 65,536"},
    {"Negative", "workload: lm\nwarmup: -1\n",
     "s.yaml:2:9: warmup is -1, out of range; allowed: 0 to 10,000"},
    {"TooLarge", "workload: lm\nbatch: 65537\n",
     "s.yaml:2:8: batch is 65537, out of range; allowed: 1 to 65,536"},
    {"LargerThanAnyInteger", "workload: lm\nseed: 9223372036854775808\n",
     "s.yaml:2:7: seed is '9223372036854775808', out of range; allowed: 0 to 2^63-1"},
    {"HeadTooWide", "workload: attention\nd_head: 300\n",
     "s.yaml:2:9: d_head is 300, out of range; allowed: 1 to 256"},
    {"NoValue", "workload: lm\nbatch:\nsteps: 3\n", "s.yaml:2:1: batch has no value; allowed: 1 to 65,536"},
    {"NullValue", "workload: lm\nbatch: ~\n", "s.yaml:2:1: batch has no value; allowed: 1 to 65,536"},
    {"ListOutsideSweep", "workload: lm\nbatch: [1, 2]\n",
     "s.yaml:2:8: batch takes one value, not a list; to sweep it, write it under sweep; allowed: 1 to "
     "65,536"},
    {"ListForWhatCannotBeSwept", "workload: lm\nname: [a, b]\n",
     "s.yaml:2:7: name takes one value, not a list; allowed: 1 to 80 printable characters, no path"},
    {"ListOfListsInSweep", "workload: lm\nsweep: {batch: [1, [2, 3]]}\n",
     "s.yaml:2:20: batch takes one value, not a list; …"},
    {"MapForAValue", "workload: lm\nbatch: {size: 3}\n",
     "s.yaml:2:8: batch takes one value, not a map; allowed: 1 to 65,536"},
    {"YesForABoolean", "workload: attention\ncausal: yes\n",
     "s.yaml:2:9: causal takes true or false, not 'yes'; write true; allowed: true, false"},
    {"OffForABoolean", "workload: attention\ncausal: Off\n",
     "s.yaml:2:9: causal takes true or false, not 'Off'; write false; allowed: true, false"},
    {"OneForABoolean", "workload: attention\ncausal: 1\n",
     "s.yaml:2:9: causal takes true or false, not '1'; write true; …"},
    {"BooleanInQuotes", "workload: attention\ncausal: 'true'\n",
     "s.yaml:2:9: causal takes true or false, not 'true'; write true; …"},
    {"WordForABoolean", "workload: attention\ncausal: maybe\n",
     "s.yaml:2:9: causal takes true or false, not 'maybe'; allowed: true, false"},
    {"ChoiceWithASlip", "workload: lm\nbackend: falsh\n",
     "s.yaml:2:10: unknown backend 'falsh'; did you mean 'flash'? allowed: naive, flash-torch, flash, "
     "flash-fp8, "
     "sdpa, sdpa-flash, sdpa-efficient, sdpa-cudnn, sdpa-math"},
    {"ChoiceSpelledWithAnUnderscore", "workload: lm\nbackend: flash_torch\n",
     "s.yaml:2:10: unknown backend 'flash_torch'; did you mean 'flash-torch'? …"},
    {"ChoiceInSweep", "workload: lm\nsweep:\n  precision: [fp32, int4]\n",
     "s.yaml:3:21: unknown precision 'int4'; allowed: fp32, tf32, bf16, fp16, fp32x6, fp8"},
    {"ChoiceUnlikeAnyOther", "workload: lm\nmode: quickly\n",
     "s.yaml:2:7: unknown mode 'quickly'; allowed: forward, backward, both, train, generate"},
    {"SizeThatIsNoPreset", "workload: lm\nsize: giant\n",
     "s.yaml:2:7: unknown size 'giant'; allowed: tiny, small, medium, large, xl, 2.7B, xl-2026, 8B, 8B-32k, "
     "10B"},
    {"DeviceWithASlip", "workload: lm\ndevice: cdua\n",
     "s.yaml:2:9: unknown device 'cdua'; did you mean 'cuda'? allowed: auto, cpu, cuda, cuda:N"},
    {"DeviceWithoutANumber", "workload: lm\ndevice: \"cuda:\"\n",
     "s.yaml:2:9: device has no GPU number in 'cuda:'; N counts from 0; allowed: auto, cpu, cuda, cuda:N"},
    {"DeviceWithABadNumber", "workload: lm\ndevice: cuda:-1\n",
     "s.yaml:2:9: device has no GPU number in 'cuda:-1'; …"},
    {"BytesWithoutAUnit", "workload: lm\nmemory_limit: 1000000000\n",
     "s.yaml:2:15: memory_limit has no unit in '1000000000'; write 1000000000 B for bytes; allowed: an "
     "amount …"},
    {"BytesWithABadUnit", "workload: lm\nmemory_limit: 8 GIB\n",
     "s.yaml:2:15: memory_limit has the unknown unit 'GIB'; did you mean 'GiB'? units: B, kB, MB, GB, TB, "
     "KiB, MiB, "
     "GiB, TiB"},
    {"TooFewBytes", "workload: lm\nmemory_limit: 10 kB\n",
     "s.yaml:2:15: memory_limit is '10 kB', out of range; allowed: 1 MiB to 1,048,576 TiB"},
    {"WordForBytes", "workload: lm\nmemory_limit: plenty\n",
     "s.yaml:2:15: memory_limit takes an amount of memory, not 'plenty'; allowed: an amount with its unit "
     "(512 MiB, "
     "1.5 GB, 8 GiB), or auto"},
    {"WordForANumber", "workload: lm\nrope_theta: big\n",
     "s.yaml:2:13: rope_theta takes a number, not 'big'; allowed: 1 to 1,000,000,000,000"},
    {"NoNumber", "workload: lm\nrope_theta: nan\n", "s.yaml:2:13: rope_theta takes a number, not 'nan'; …"},
    {"NoTimeAtAll", "workload: lm\ntimeout: 0\n",
     "s.yaml:2:10: timeout is 0, out of range; allowed: 0.001 to 31,536,000"},
    {"TimeWithAUnit", "workload: lm\ntimeout: 10m\n", "s.yaml:2:10: timeout takes a number, not '10m'; …"},
    {"CompileWithASlip", "workload: lm\ncompile: grpah\n",
     "s.yaml:2:10: unknown compile 'grpah'; did you mean 'graph'? allowed: none, graph, fused, inductor, "
     "package:FILE.pt2"},
    {"PackageOfAnotherKind", "workload: lm\ncompile: package:model.so\n",
     "s.yaml:2:10: compile names no package in 'package:model.so'; packages of AOTInductor end in .pt2; …"},
    {"CheckpointingOfNoBlock", "workload: lm\ncheckpointing: block:0\n",
     "s.yaml:2:16: checkpointing has no K from 1 to 1,024 in 'block:0'; allowed: none, block, block:K, "
     "block:K+N, nested, nested:K, attention"},
    {"CheckpointingThatKeepsNoBlock", "workload: lm\ncheckpointing: block:1+0\n",
     "s.yaml:2:16: checkpointing has no N from 1 to 1,024 in 'block:1+0'; …"},
    {"CheckpointingThatKeepsNoNumber", "workload: lm\ncheckpointing: block:1+\n",
     "s.yaml:2:16: checkpointing has no N from 1 to 1,024 in 'block:1+'; …"},
    {"CheckpointingNestedThatKeepsBlocks", "workload: lm\ncheckpointing: nested:2+1\n",
     "s.yaml:2:16: checkpointing has no K from 2 to 1,024 in 'nested:2+1'; …"},
    {"CheckpointingInOneSegment", "workload: lm\ncheckpointing: nested:1\n",
     "s.yaml:2:16: checkpointing has no K from 2 to 1,024 in 'nested:1'; allowed: none, block, block:K, "
     "block:K+N, nested, nested:K, attention"},
    {"CheckpointingWithASlip", "workload: lm\ncheckpointing: blocks\n",
     "s.yaml:2:16: unknown checkpointing 'blocks'; did you mean 'block'? …"},
    {"NameIsAPath", "workload: lm\nname: ../../etc/passwd\n",
     "s.yaml:2:7: name '../../etc/passwd' looks like a path; name the file with -o; allowed: 1 to 80 …"},
    {"NameIsEmpty", "workload: lm\nname: ''\n", "s.yaml:2:7: name has 0 characters; allowed: 1 to 80 …"},
    {"NameIsTooLong",
     "workload: lm\nname: "
     "012345678901234567890123456789012345678901234567890123456789012345678901234567890\n",
     "s.yaml:2:7: name has 81 characters; allowed: 1 to 80 printable characters, no path"},
    {"NameObeyedByATerminal", "workload: lm\nname: \"\\x1b[31mred\"\n",
     "s.yaml:2:7: name has characters that cannot be shown in '_[31mred'; …"},
    {"NameTurnedAround", "workload: lm\nname: a\u202eb\n",
     "s.yaml:2:7: name has characters that cannot be shown in 'a_b'; …"},
    {"CounterTwice", "workload: lm\ncounters: [a, b, a]\n",
     "s.yaml:2:11: counters names 'a' twice; allowed: …"},
    {"CounterIsAMap", "workload: lm\ncounters: [a, {b: 1}]\n",
     "s.yaml:2:11: counters has an entry that is not a name; allowed: a list of up to 64 names"},
};

// Sweeps.
const BadSpec kSweeps[] = {
    {"SweepIsAWord", "workload: lm\nsweep: everything\n",
     "s.yaml:2:8: sweep takes a map of lists or a list of maps, not a word; write sweep: {seq_len: [256, "
     "1024], …}"},
    {"FixedIsAList", "workload: lm\nfixed: [batch, 3]\n",
     "s.yaml:2:8: fixed takes a map of keys, not a list; write fixed: {batch: 8, …}"},
    {"PointIsAWord", "workload: lm\nsweep: [tiny, small]\n",
     "s.yaml:2:9: a point of sweep is a map of keys, not a word; write - {seq_len: 256, backend: naive}"},
    {"NoPoints", "workload: lm\nsweep: []\n",
     "s.yaml:2:8: sweep lists no points; write at least one, or remove sweep"},
    {"NoValues", "workload: lm\nsweep: {batch: []}\n",
     "s.yaml:2:16: sweep gives batch no value; write at least one, or remove the key"},
    {"ValueTwice", "workload: lm\nsweep: {batch: [1, 2, 1]}\n",
     "s.yaml:2:23: sweep gives batch the value 1 twice; remove one"},
    {"AmountTwiceInOtherUnits", "workload: lm\nsweep: {memory_limit: [1 GiB, 1024 MiB]}\n",
     "s.yaml:2:31: sweep gives memory_limit the value 1073741824 twice; remove one"},
    {"PointTwice",
     "workload: lm\nsweep:\n- {batch: 1, size: tiny}\n- {batch: 2, size: tiny}\n- {size: tiny, batch: 1}\n",
     "s.yaml:5:4: sweep lists the same point twice; it is given at line 3 already; remove one"},
    {"NoValueInSweep", "workload: lm\nsweep: {batch: [1, ~]}\n",
     "s.yaml:2:20: batch has no value; allowed: 1 to 65,536"},
};

// Values that are right alone and wrong together.
const BadSpec kCombinations[] = {
    {"HeadsNotDividingTheModel", "workload: lm\nsize: small\nheads: 7\n",
     "s.yaml:3:8: heads 7 does not divide d_model 768; every head takes the same share of the model's width"},
    {"ModelNotDividedByHeads", "workload: lm\nsize: small\nd_model: 770\n",
     "s.yaml:3:10: heads 12 does not divide d_model 770; …"},
    {"OddHead", "workload: lm\nd_model: 36\nheads: 12\n",
     "s.yaml:3:8: a head is 3 wide (d_model 36 / heads 12); rotary embedding rotates pairs, so the width "
     "must be even"},
    {"SweptHeads", "workload: lm\nsize: tiny\nsweep:\n  heads: [1, 2, 4,\n    5]\n",
     "s.yaml:5:5: heads 5 does not divide d_model 128; …"},
    {"KeyHeadsNotDividingHeads", "workload: attention\nheads: 8\nkv_heads: 3\n",
     "s.yaml:3:11: kv_heads 3 does not divide heads 8; every key and value head serves the same number of "
     "query heads"},
    {"MoreKeyHeadsThanHeads", "workload: attention\nkv_heads: 2\n",
     "s.yaml:2:11: kv_heads 2 does not divide heads 1; …"},
    {"HeadThatEfficientLacks", "workload: attention\nbackend: sdpa-efficient\nprecision: bf16\nd_head: 20\n",
     "s.yaml:4:9: backend sdpa-efficient in bf16 does not support head width 20; it supports multiples of 8"},
    {"HeadThatEfficientLacksInFp32", "workload: attention\nbackend: sdpa-efficient\nd_head: 30\n",
     "s.yaml:3:9: backend sdpa-efficient in fp32 does not support head width 30; it supports multiples of 4"},
    {"HeadThatCudnnLacks",
     "workload: attention\nprecision: fp16\nd_head: 100\nsweep: {backend: [naive, sdpa-cudnn]}\n",
     "s.yaml:3:9: backend sdpa-cudnn in fp16 does not support head width 100; it supports multiples of 8"},
    {"HeadThatFlashLacks", "workload: lm\nbackend: flash\nheads: 2\n",
     "s.yaml:3:8: backend flash does not support head width 384; it supports up to 256; naive, flash-torch, "
     "sdpa and "
     "sdpa-math "
     "support any"},
    {"HeadThatFp8AttentionLacks",
     "workload: attention\nbackend: flash-fp8\nprecision: bf16\nmode: forward\nd_head: 96\n",
     "s.yaml:5:9: backend flash-fp8 in bf16 does not support head width 96; it supports multiples of 64"},
    {"BackwardThatFp8AttentionLacks",
     "workload: attention\nbackend: flash-fp8\nprecision: bf16\nmode: both\n",
     "s.yaml:2:10: backend flash-fp8 has no backward, and mode is both; write mode: forward"},
    {"TrainingWithFp8Attention", "workload: lm\nmode: train\nsweep: {backend: [flash, flash-fp8]}\n",
     "s.yaml:3:26: backend flash-fp8 has no backward, and mode is train; write mode: forward"},
    {"GraphThatFp8AttentionLacks", "workload: attention\nbackend: flash-fp8\nmode: forward\ngrad: true\n",
     "s.yaml:2:10: backend flash-fp8 has no backward, and grad keeps the graph for one; write grad: false"},
    {"Tf32OnTheCpu", "workload: lm\ndevice: cpu\nprecision: tf32\n",
     "s.yaml:3:12: precision tf32 is a format of GPUs, and device is cpu; write precision: fp32 or device: "
     "cuda"},
    {"GraphOnTheCpu", "workload: lm\ncompile: graph\ndevice: cpu\n",
     "s.yaml:2:10: compile graph is a CUDA graph, and device is cpu; write compile: none or device: cuda"},
    {"CountersOnTheCpu", "workload: lm\ncounters: [dram__bytes.sum]\ndevice: cpu\n",
     "s.yaml:2:11: counters need a GPU, and device is cpu; remove counters or write device: cuda"},
    {"InsideOnTheCpu", "workload: lm\ninside: true\ndevice: cpu\n",
     "s.yaml:2:9: inside needs a GPU, and device is cpu; remove inside or write device: cuda"},
    {"InsideWithCounters", "workload: lm\ncounters: [dram__bytes.sum]\ninside: true\n",
     "s.yaml:3:9: counters and inside need the GPU's profiler for themselves; keep one of the two, or give "
     "each "
     "a point of its own"},
    {"InsideOfAGraph", "workload: lm\ninside: true\ncompile: graph\n",
     "s.yaml:2:9: inside does not see the kernels of CUDA graphs that were captured before the traced steps, "
     "and "
     "compile is graph; remove inside or write compile: none"},
    {"InsideOfFusedKernels", "workload: lm\ncompile: fused\nbackend: flash\ninside: true\n",
     "s.yaml:4:9: inside does not see the kernels of CUDA graphs that were captured before the traced steps, "
     "and "
     "compile is fused; remove inside or write compile: none"},
    {"InsideWithoutATrace", "workload: attention\ninside: true\ntrace: off\n",
     "s.yaml:2:9: inside samples the traced steps, and trace is off; remove inside or write trace: kernels"},
    {"InsideWithoutTracedSteps", "workload: lm\ninside: true\ntrace_steps: 0\n",
     "s.yaml:2:9: inside samples the traced steps, and trace_steps is 0; remove inside or write trace_steps: "
     "3"},
    {"TrainingAttention", "workload: attention\nmode: train\n",
     "s.yaml:2:7: mode train is for workload lm: attention has nothing to train; allowed: forward, backward, "
     "both"},
    {"CrossEntropyOfAttention", "workload: attention\nloss: cross_entropy\n",
     "s.yaml:2:7: loss cross_entropy is for workload lm: attention gives no logits; allowed: sum"},
    {"GradInAnotherMode", "workload: lm\ngrad: true\n",
     "s.yaml:2:7: grad is for mode forward, and mode is both; the other modes always keep the graph; remove "
     "grad or "
     "write mode: forward"},
    {"GeneratingAttention", "workload: attention\nmode: generate\n",
     "s.yaml:2:7: mode generate is for workload lm: attention has no tokens to generate; allowed: forward, "
     "backward, both"},
    {"StepsOfAGeneration", "workload: lm\nmode: generate\nsteps: 10\n",
     "s.yaml:3:8: mode generate times every one of new_tokens 32, and steps is 10; remove steps"},
    {"NewTokensOfTraining", "workload: lm\nmode: train\nnew_tokens: 8\n",
     "s.yaml:3:13: new_tokens is for mode generate, and no point has it; remove it or write mode: generate"},
    {"NoNewTokens", "workload: lm\nmode: generate\nnew_tokens: 0\n",
     "s.yaml:3:13: new_tokens is 0, out of range; allowed: 1 to 65,536"},
    {"KeyHeadsOfTraining", "workload: lm\nmode: train\nkv_heads: 2\n",
     "s.yaml:3:11: kv_heads 2 is for mode generate, and mode is train; remove kv_heads: the other modes have "
     "as many as heads, 12"},
    {"OneKeyHeadOfTraining", "workload: lm\nmode: train\nkv_heads: 1\n",
     "s.yaml:3:11: kv_heads is for mode generate, and no point has it; …"},
    {"KeyHeadsOfAGenerationNotDividingHeads", "workload: lm\nmode: generate\nkv_heads: 5\n",
     "s.yaml:3:11: kv_heads 5 does not divide heads 12; every key and value head serves the same number of "
     "query heads"},
    {"PageOfAContiguousCache", "workload: lm\nmode: generate\npage: 8\n",
     "s.yaml:3:7: page is for cache paged, and no point has it; remove it or write cache: paged"},
    {"CacheWithASlip", "workload: lm\nmode: generate\ncache: pagd\n",
     "s.yaml:3:8: unknown cache 'pagd'; did you mean 'paged'? allowed: contiguous, paged"},
    {"GenerationInFp16", "workload: lm\nmode: generate\nprecision: fp16\n",
     "s.yaml:3:12: mode generate does not support precision fp16; write precision: fp32 or bf16"},
    {"GenerationWithAnotherBackend", "workload: lm\nmode: generate\nbackend: flash-torch\n",
     "s.yaml:3:10: mode generate does not support backend flash-torch; write backend: naive or flash or "
     "sdpa"},
    {"Fp8WeightsInFp32", "workload: lm\nmode: generate\nweights: fp8\n",
     "s.yaml:3:10: weights fp8 multiply activations in bf16, and precision is fp32; write precision: bf16"},
    {"InductorGeneration", "workload: lm\nmode: generate\ncompile: inductor\n",
     "s.yaml:3:10: compile inductor does not support mode generate; write compile: none, graph or fused"},
    {"FusedGenerationWithAnotherBackend", "workload: lm\nmode: generate\ncompile: fused\nbackend: sdpa\n",
     "s.yaml:3:10: compile fused has its own attention, and backend is sdpa; write backend: flash"},
    {"GraphsOfManyTokens", "workload: lm\nmode: generate\ncompile: graph\nnew_tokens: 2000\n",
     "s.yaml:4:13: compile graph captures graphs for every new token, and new_tokens is 2000; choose at most "
     "1024"},
    {"GenerationOnRanks", "workload: lm\nmode: generate\ngpus: 2\nparallel: tp\n",
     "s.yaml:3:7: mode generate runs on one rank; write gpus: 1 and parallel: none"},
    {"GenerationWithCheckpointing", "workload: lm\nmode: generate\ncheckpointing: block\n",
     "s.yaml:3:16: mode generate has no backward, and checkpointing is block; write checkpointing: none"},
    {"LossOfAGeneration", "workload: lm\nmode: generate\nloss: cross_entropy\n",
     "s.yaml:3:7: mode generate computes no loss, and loss is cross_entropy; remove loss"},
    {"GenerationTimedByStep", "workload: lm\nmode: generate\ntiming: step\n",
     "s.yaml:3:9: mode generate times its phases, and timing is step; write timing: phase"},
    {"GenerationThatKeepsAGraph", "workload: lm\nmode: generate\ngrad: true\n",
     "s.yaml:3:7: grad is for mode forward, and mode is generate; …"},
    {"FusedAttention", "workload: attention\ncompile: fused\n",
     "s.yaml:2:10: compile fused is for workload lm; allowed: none, graph, package:FILE.pt2"},
    {"FusedInFp16", "workload: lm\ncompile: fused\nprecision: fp16\n",
     "s.yaml:2:10: compile fused does not scale the loss, which precision fp16 needs; write precision: bf16"},
    {"FusedWithAnotherBackend", "workload: lm\ncompile: fused\nbackend: sdpa\n",
     "s.yaml:2:10: compile fused has its own attention, and backend is sdpa; write backend: flash"},
    {"FusedOnRanks", "workload: lm\ncompile: fused\ndevice: cpu\ngpus: 2\nparallel: ddp\n",
     "s.yaml:2:10: compile fused supports no parallel but fsdp, and parallel is ddp; write compile: none or "
     "parallel: fsdp"},
    {"FusedWithANarrowHead", "workload: lm\ncompile: fused\nd_model: 120\nheads: 10\n",
     "s.yaml:2:10: compile fused does not support heads 12 wide and d_ff 3072; choose multiples of 8"},
    {"FusedTooWide", "workload: lm\ncompile: fused\nd_model: 16384\nheads: 128\n",
     "s.yaml:2:10: compile fused does not support d_model 16384; it supports up to 8192"},
    {"InductorAttention", "workload: attention\ncompile: inductor\n",
     "s.yaml:2:10: compile inductor is for workload lm; allowed: none, graph, package:FILE.pt2"},
    {"InductorOfSplitProducts", "workload: lm\ncompile: inductor\nprecision: fp32x6\n",
     "s.yaml:2:10: compile inductor has the products of LibTorch, and precision is fp32x6; write precision: "
     "fp32 or compile: fused"},
    {"InductorWithAnotherBackend", "workload: lm\ncompile: inductor\nbackend: flash\n",
     "s.yaml:2:10: compile inductor compiles attention too, and backend is flash; write backend: naive or "
     "sdpa"},
    {"InductorWithCheckpointing", "workload: lm\ncompile: inductor\ncheckpointing: block\n",
     "s.yaml:2:10: compile inductor chooses itself what it recomputes, and checkpointing is block; write "
     "checkpointing: none"},
    {"InductorThatKeepsAGraph", "workload: lm\ncompile: inductor\nmode: forward\ngrad: true\n",
     "s.yaml:2:10: compile inductor keeps what backward needs only where there is a backward; write mode: "
     "both, "
     "or grad: false"},
    {"InductorOfRanks", "workload: lm\ngpus: 2\nparallel: ddp\ncompile: inductor\n",
     "s.yaml:4:10: compile inductor is for one process, and parallel ddp has ranks; …"},
    {"SplitAttention", "workload: attention\nprecision: fp32x6\n",
     "s.yaml:2:12: precision fp32x6 is for workload lm: it computes products with weights; allowed: fp32, "
     "tf32, bf16, fp16"},
    {"SplitPackage", "workload: lm\ncompile: package:m.pt2\nmode: forward\nprecision: fp32x6\n",
     "s.yaml:2:10: compile package computes products as it was compiled, and precision is fp32x6; write "
     "precision: fp32 or compile: none"},
    {"Fp8Attention", "workload: attention\nprecision: fp8\n",
     "s.yaml:2:12: precision fp8 is for workload lm: it computes products with weights; allowed: fp32, "
     "tf32, bf16, fp16"},
    {"Fp8OfTheEagerModel", "workload: lm\nprecision: fp8\n",
     "s.yaml:2:12: precision fp8 is for compile: fused, and compile is none; write compile: fused or "
     "precision: bf16"},
    {"Fp8OfAPackage", "workload: lm\nmode: forward\nprecision: fp8\ncompile: package:m.pt2\n",
     "s.yaml:3:12: precision fp8 is for compile: fused, and compile is package; write compile: fused or "
     "precision: bf16"},
    {"Fp8OfAnUnevenWidth", "workload: lm\ncompile: fused\nprecision: fp8\nd_ff: 1000\n",
     "s.yaml:3:12: precision fp8 does not support d_model 768 and d_ff 1000; choose multiples of 16"},
    {"Fp8OfAWideLayer", "workload: lm\ncompile: fused\nprecision: fp8\nd_ff: 32768\n",
     "s.yaml:3:12: precision fp8 does not support d_ff 32768; it supports up to 16384"},
    {"StepTimingOfAPart", "workload: lm\nmode: backward\ntiming: step\n",
     "s.yaml:3:9: timing step measures whole steps, and mode backward a part; write mode: both or timing: "
     "phase"},
    {"PackageInAnotherMode", "workload: lm\ncompile: package:m.pt2\nmode: train\n",
     "s.yaml:2:10: compile package runs a forward pass without a graph; write mode: forward and grad: false"},
    {"PackageWithAGraph", "workload: lm\ncompile: package:m.pt2\nmode: forward\ngrad: true\n",
     "s.yaml:2:10: compile package runs a forward pass without a graph; …"},
    {"CheckpointingMoreBlocksThanThereAre", "workload: lm\nsize: tiny\ncheckpointing: block:3\n",
     "s.yaml:3:16: checkpointing block:3 with 2 layers; K is at most 2"},
    {"CheckpointingKeepsMoreBlocksThanThereAre", "workload: lm\nsize: tiny\ncheckpointing: block:1+2\n",
     "s.yaml:3:16: checkpointing block:1+2 with 2 layers; K+N is at most 2"},
    {"CheckpointingInMoreSegmentsThanThereAreBlocks", "workload: lm\nsize: tiny\ncheckpointing: nested:3\n",
     "s.yaml:3:16: checkpointing nested:3 with 2 layers; K is at most 2"},
    {"SeveralGpusThatShareNothing", "workload: lm\ndevice: cpu\ngpus: 2\n",
     "s.yaml:3:7: gpus 2 without parallel; write how they share a step, for example parallel: ddp"},
    {"ParallelWithoutGradients", "workload: lm\ndevice: cpu\nmode: forward\nparallel: ddp\n",
     "s.yaml:4:11: parallel ddp combines gradients, and mode forward has none; write mode: backward, both or "
     "train"},
    {"ShardedOptimizerWithoutOptimizer", "workload: lm\ngpus: 2\nparallel: zero1\n",
     "s.yaml:3:11: parallel zero1 divides the optimizer, and mode both has none; write mode: train"},
    {"RanksOnOneGpu", "workload: lm\ngpus: 2\ndevice: cuda:1\nparallel: ddp\n",
     "s.yaml:3:9: gpus 2 uses the GPUs from 0 on, and device is cuda:1; write device: cuda"},
    {"GraphOfRanks", "workload: lm\ngpus: 2\nparallel: ddp\ncompile: graph\n",
     "s.yaml:4:10: compile graph is for one process, and parallel ddp has ranks; write compile: none or "
     "parallel: none"},
    {"PackageOfRanks", "workload: lm\nmode: forward\ngpus: 2\nparallel: fsdp\ncompile: package:m.pt2\n",
     "s.yaml:5:10: compile package is for one process, and parallel fsdp has ranks; …"},
    {"HeadsThatTheRanksDoNotDivide", "workload: lm\nsize: xl\ngpus: 2\nparallel: tp\n",
     "s.yaml:3:7: parallel tp divides each layer among 2 ranks, and heads is 25; choose a number of ranks "
     "that "
     "divides heads"},
    {"WidthThatTheRanksDoNotDivide", "workload: lm\nd_ff: 3001\ngpus: 2\nparallel: tp\n",
     "s.yaml:3:7: parallel tp divides each layer among 2 ranks, and d_ff is 3001; choose a number of ranks "
     "that "
     "divides d_ff"},
    {"RanksWithoutAGrid", "workload: lm\ngpus: 3\nparallel: fsdp+tp\n",
     "s.yaml:2:7: parallel fsdp+tp arranges the ranks in rows and columns, which gpus 3 does not allow; "
     "choose "
     "a product of two numbers above 1: 4, 6, 8, …"},
    {"MessageOfPartsOfElements", "workload: collective\nbytes: 6 B\n",
     "s.yaml:2:8: bytes 6 is no whole number of elements of fp32; write a multiple of 4 B"},
    {"MessageThatTheRanksDoNotDivide", "workload: collective\nop: reduce_scatter\nbytes: 1 MB\ngpus: 6\n",
     "s.yaml:3:8: reduce_scatter divides bytes 1000000 among 6 ranks in elements of fp32; write a multiple "
     "of "
     "24 B"},
    {"LayersOfACollective", "workload: collective\nlayers: 2\n",
     "s.yaml:2:1: the key 'layers' is not for workload collective; …"},
    {"BucketsOfNoRanks", "workload: lm\ndevice: cpu\ngpus: 2\nparallel: ddp-flat\nbucket: 1 MiB\n",
     "s.yaml:5:9: bucket is for parallel ddp, optimizer-sharding and zero1, and no point has one of them; "
     "remove "
     "it or write parallel: ddp"},
    {"BucketAuto", "workload: lm\ndevice: cpu\nparallel: ddp\nbucket: auto\n", "s.yaml:4:9: …"},
    {"TilesOfNoBackend", "workload: attention\ntile_q: 32\n",
     "s.yaml:2:9: tile_q is for backend flash-torch, and no point has it; remove it or write backend: "
     "flash-torch"},
};

// Not a spec, or not YAML.
const BadSpec kForms[] = {
    {"Empty", "", "s.yaml: the spec is empty; begin with `workload: attention` or `workload: lm`"},
    {"OnlyAComment", "# to do\n", "s.yaml: the spec is empty; …"},
    {"Null", "~\n", "s.yaml: the spec is empty; …"},
    {"AList", "- workload: lm\n", "s.yaml:1:1: a spec is a map of keys, not a list; begin with …"},
    {"AWord", "lm\n", "s.yaml:1:1: a spec is a map of keys, not a word; begin with …"},
    {"NoSpaceAfterTheColon", "workload:lm\n",
     "s.yaml:1:1: a spec is a map of keys, not a word; write a space after the colon"},
    {"TabBeforeAKey", "workload: lm\n\tbatch: 3\n",
     "s.yaml:2:1: not valid YAML: illegal tab when looking for indentation; indent with spaces, not tabs"},
    {"TabUnderFixed", "workload: lm\nfixed:\n\tbatch: 3\n",
     "s.yaml:3:7: not valid YAML: illegal map value; indent with spaces, not tabs"},
    {"BadIndentation", "workload: lm\n batch: 3\n",
     "s.yaml:2:7: not valid YAML: illegal map value; check the indentation; quote values that contain ': '"},
    {"ColonInAValue", "workload: lm\nname: a: b\n", "s.yaml:2:8: not valid YAML: illegal map value; …"},
    {"OpenBracket", "workload: lm\nsweep: {batch: [1, 2}\n", "s.yaml:2:21: not valid YAML: …"},
    {"OpenQuotes", "workload: lm\nname: \"abc\n",
     "s.yaml:2:7: a quotation mark is not closed; end the text with \""},
    {"OpenApostrophe", "workload: lm\nname: 'it''s\n",
     "s.yaml:2:7: a quotation mark is not closed; end the text with '"},
    {"UnknownEscape", "workload: lm\nname: \"\\q\"\n",
     "s.yaml:2:10: not valid YAML: unknown escape character: q; …"},
    {"UnknownAlias", "workload: lm\nbatch: *none\n",
     "s.yaml:2:8: not valid YAML: the referenced anchor is not defined; define the anchor that '*name' "
     "repeats …"},
    {"AliasOfItself", "workload: &a [*a]\n",
     "s.yaml:1:15: an alias names a value that it is part of; write the value out"},
    {"PythonObject", "workload: lm\nname: !!python/object x\n",
     "s.yaml:2:7: the tag 'tag:yaml.org,2002:python/object' has no meaning here; remove it"},
    {"TwoDocuments", "workload: lm\n---\nworkload: lm\n",
     "s.yaml:2:1: a second document begins here; a spec is one document; remove the '---' or '...'"},
    {"ListAsAKey", "workload: lm\n? [a]\n: 2\n",
     "s.yaml:2:3: a key is a list or a map; keys are words; is a bracket not closed, or a key missing?"},
    {"EmptyKey", "workload: lm\n'': 2\n", "s.yaml:2:1: a key is missing; write `key: value`"},
    {"Utf16", std::string_view("\xff\xfew\0o\0", 6),
     "s.yaml:1:1: byte 0xff is not UTF-8; a spec is YAML, plain text in UTF-8"},
    {"Latin1", "workload: lm\nname: caf\xe9\n", "s.yaml:2:10: byte 0xe9 is not UTF-8; …"},
    {"OverlongUtf8", "workload: lm\nname: \xc0\xaf\n", "s.yaml:2:7: byte 0xc0 is not UTF-8; …"},
    {"Surrogate", "workload: lm\nname: \xed\xa0\x80\n", "s.yaml:2:7: byte 0xed is not UTF-8; …"},
    {"NulByte", std::string_view("workload: lm\nname: a\0b\n", 22),
     "s.yaml:2:8: a control character (byte 0x00); a spec is YAML, plain text in UTF-8"},
    {"CarriageReturnsAlone", "workload: lm\rbatch: 3\r", "s.yaml:1:13: a control character (byte 0x0d); …"},
    {"Program",
     "\x7f"
     "ELF\x02\x01",
     "s.yaml:1:1: a control character (byte 0x7f); …"},
};

class BadSpecs : public ::testing::TestWithParam<BadSpec> {};

TEST_P(BadSpecs, AreRefusedInOneSentence)
{
    const std::string sentence = sentenceOf(GetParam().yaml);
    EXPECT_TRUE(matches(sentence, GetParam().sentence))
        << "  is: " << sentence << "\n  not: " << GetParam().sentence;
    EXPECT_EQ(sentence.find('\n'), std::string::npos);
}

std::string nameOf(const ::testing::TestParamInfo<BadSpec>& info)
{
    return std::string(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(Keys, BadSpecs, ::testing::ValuesIn(kKeys), nameOf);
INSTANTIATE_TEST_SUITE_P(Values, BadSpecs, ::testing::ValuesIn(kValues), nameOf);
INSTANTIATE_TEST_SUITE_P(Sweeps, BadSpecs, ::testing::ValuesIn(kSweeps), nameOf);
INSTANTIATE_TEST_SUITE_P(Combinations, BadSpecs, ::testing::ValuesIn(kCombinations), nameOf);
INSTANTIATE_TEST_SUITE_P(Forms, BadSpecs, ::testing::ValuesIn(kForms), nameOf);

} // namespace

} // namespace tilescope::config
