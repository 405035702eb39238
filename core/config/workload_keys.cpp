#include "core/config/schema_rows.h"

#include "core/config/spec_file.h"

namespace tilescope::config::schema_rows {

namespace {

constexpr double kLongest = 1'048'576; // tokens
constexpr double kSmallestMessage = 4; // bytes

std::vector<std::string> sizeNames()
{
    std::vector<std::string> names;
    for (const SizePreset& preset : sizePresets())
        names.push_back(preset.name);
    return names;
}

} // namespace

void addAttention(std::vector<KeyRow>& rows)
{
    using enum ValueType;
    using enum KeyGroup;
    const auto integer = integerOf(Workload::Attention);
    KeyInfo heads = used(integer("heads", "Heads", 1, 65'536, "1 (attention), that of size (lm)",
                                 "attention heads; in the lm they divide d_model", "16", true),
                         {.title = 60,
                          .letters = "h",
                          .details = 90,
                          .filter = 90,
                          .alongX = 80,
                          .series = 100,
                          .caption = 40,
                          .leader = "size"});
    heads.lm = true;
    rows.push_back(row<&Spec::heads>(heads));
    KeyInfo kvHeads =
        used(integer("kv_heads", "Key/value heads", 1, 65'536, "heads",
                     "heads of keys and values; they divide heads; in the lm for mode generate", "2"),
             {.title = 70, .letters = "kv", .leader = "heads", .equalsLeader = true});
    kvHeads.lm = true;
    rows.push_back(row<&Spec::kvHeads>(kvHeads));
    rows.push_back(row<&Spec::headDim>(
        used(integer("d_head", "Head dim", 1, 256, "64",
                     "width of a head; some backends support only certain widths", "128", true),
             {.title = 80,
              .letters = "d",
              .details = 100,
              .filter = 100,
              .alongX = 50,
              .series = 90,
              .caption = 50})));
    rows.push_back(row<&Spec::seqLen>(used(
        integer("seq_len", "Sequence length", 1, kLongest, "1024", "queries in a sequence", "4096", true),
        {.details = 110, .filter = 60, .alongX = 10})));
    rows.push_back(
        row<&Spec::kvLen>(used(integer("kv_len", "Keys", 1, kLongest, "seq_len",
                                       "keys in a sequence; a causal mask is aligned bottom right", "2048"),
                               {.alongX = 30, .leader = "seq_len", .equalsLeader = true})));
    rows.push_back(row<&Spec::causal>({.name = "causal",
                                       .label = "Causal mask",
                                       .type = Boolean,
                                       .group = Attention,
                                       .defaultText = "true",
                                       .help = "a query does not see later keys",
                                       .example = "false",
                                       .common = true,
                                       .lm = false,
                                       .use = {.title = 140, .details = 160, .series = 80, .caption = 60}}));
    rows.push_back(row<&Spec::tileQ>(
        used(integer("tile_q", "Q tile", 16, 1024, "64", "rows of Q in a tile of flash-torch", "128"),
             {.title = 150, .letters = "tq"})));
    rows.push_back(row<&Spec::tileK>(
        used(integer("tile_k", "K tile", 16, 1024, "64", "rows of K and V in a tile of flash-torch", "128"),
             {.title = 160, .letters = "tk"})));
}
void addModel(std::vector<KeyRow>& rows)
{
    using enum ValueType;
    using enum KeyGroup;
    const auto integer = integerOf(Workload::Lm);
    rows.push_back(
        row<&Spec::size>({.name = "size",
                          .label = "Model size",
                          .type = Choice,
                          .group = Model,
                          .choices = sizeNames(),
                          .defaultText = "small",
                          .help = "preset that sets d_model, d_ff, layers and heads",
                          .example = "tiny",
                          .common = true,
                          .attention = false,
                          .use = {.title = 30, .details = 40, .filter = 30, .series = 30, .caption = 80}}));
    rows.push_back(row<&Spec::dModel>(used(
        integer("d_model", "Model width", 1, 65'536, "that of size", "width of the residual stream", "512"),
        {.title = 50, .letters = "m", .alongX = 60, .leader = "size"})));
    rows.push_back(row<&Spec::dFf>(used(integer("d_ff", "Feed-forward", 1, 262'144, "that of size",
                                                "width inside the feed-forward block", "2048"),
                                        {.leader = "size"})));
    rows.push_back(row<&Spec::layers>(
        used(integer("layers", "Layers", 1, 1'024, "that of size", "transformer blocks", "6"),
             {.title = 40, .letters = "l", .alongX = 70, .leader = "size"})));
    rows.push_back(row<&Spec::vocab>(
        integer("vocab", "Vocabulary", 2, kLongest, "10000", "size of the vocabulary", "50257")));
    rows.push_back(row<&Spec::context>(
        used(integer("context", "Context length", 1, kLongest, "128", "tokens in a sequence", "512", true),
             {.title = 100, .letters = "c", .details = 80, .filter = 70, .alongX = 20})));
    rows.push_back(
        row<&Spec::data>({.name = "data",
                          .label = "Token data",
                          .type = Choice,
                          .group = Model,
                          .choices = words<TokenData>(),
                          .defaultText = "random",
                          .help = "tokens: uniform and independent, or a Markov chain whose entropy, "
                                  "the least cross entropy, is known",
                          .example = "markov",
                          .attention = false,
                          .addedLater = true}));
    rows.push_back(row<&Spec::ropeTheta>({.name = "rope_theta",
                                          .label = "RoPE base",
                                          .type = Real,
                                          .group = Model,
                                          .minimum = 1,
                                          .maximum = 1e12,
                                          .defaultText = "10000",
                                          .help = "base of the rotary position embedding's wavelengths",
                                          .example = "500000",
                                          .attention = false}));
    rows.push_back(row<&Spec::checkpointing>(
        {.name = "checkpointing",
         .label = "Checkpointing",
         .type = ValueType::Checkpointing,
         .group = Model,
         .choices = {"none", "block", "nested", "attention"},
         .minimum = 1,
         .maximum = 1'024,
         .defaultText = "none",
         .help = "activations recomputed in backward; block:K keeps the input "
                 "of every K-th block, block:K+N besides all activations of the last "
                 "N blocks, nested:K divides the blocks into K segments and each "
                 "segment again",
         .example = "block:2",
         .attention = false,
         .use = {.title = 190, .series = 50}}));
}
void addRanks(std::vector<KeyRow>& rows)
{
    using enum ValueType;
    using enum KeyGroup;
    rows.push_back(row<&Spec::gpus>(
        {.name = "gpus",
         .label = "Ranks",
         .type = Integer,
         .group = Ranks,
         .minimum = 1,
         .maximum = 64,
         .defaultText = "1 (lm), 2 (collective)",
         .help = "ranks that share a step, each a process with its own GPU; "
                 "on a CPU they communicate through shared memory",
         .example = "4",
         .common = true,
         .attention = false,
         .collective = true,
         .use = {.title = 20, .letters = "g", .details = 140, .filter = 120, .alongX = 90}}));
    rows.push_back(row<&Spec::parallel>(
        {.name = "parallel",
         .label = "Parallelism",
         .type = Choice,
         .group = Ranks,
         .choices = words<Parallel>(),
         .defaultText = "none",
         .help =
             "how ranks share a step: they have their own batches and combine gradients (ddp), divide the "
             "optimizer (optimizer-sharding, zero1) or all state (fsdp), or divide each layer (tp)",
         .example = "ddp",
         .common = true,
         .attention = false,
         .use = {.title = 10, .details = 130, .filter = 110, .series = 60}}));
    rows.push_back(row<&Spec::bucket>(
        {.name = "bucket",
         .label = "Bucket",
         .type = Size,
         .group = Ranks,
         .minimum = kSmallestLimit,
         .maximum = kLargestLimit,
         .defaultText = "25 MiB",
         .help = "gradients that ddp, optimizer-sharding and zero1 combine in one collective",
         .example = "1 MiB",
         .attention = false,
         .use = {.title = 220, .letters = "bk", .details = 150}}));
    rows.push_back(row<&Spec::op>({.name = "op",
                                   .label = "Collective",
                                   .type = Choice,
                                   .group = Ranks,
                                   .choices = words<CollectiveOp>(),
                                   .defaultText = "all_reduce",
                                   .help = "the collective that a step executes once",
                                   .example = "all_gather",
                                   .common = true,
                                   .attention = false,
                                   .lm = false,
                                   .collective = true,
                                   .use = {.title = 200, .details = 20, .filter = 130}}));
    rows.push_back(row<&Spec::bytes>({.name = "bytes",
                                      .label = "Message size",
                                      .type = Size,
                                      .group = Ranks,
                                      .minimum = kSmallestMessage,
                                      .maximum = kLargestLimit,
                                      .defaultText = "1 MiB",
                                      .help = "what one rank contributes to the collective",
                                      .example = "64 MiB",
                                      .common = true,
                                      .attention = false,
                                      .lm = false,
                                      .collective = true,
                                      .use = {.title = 210, .details = 30}}));
    rows.push_back(row<&Spec::messageDtype>({.name = "dtype",
                                             .label = "Number format",
                                             .type = Choice,
                                             .group = Ranks,
                                             .choices = words<MessageDtype>(),
                                             .defaultText = "fp32",
                                             .help = "number format of the collective's elements",
                                             .example = "bf16",
                                             .attention = false,
                                             .lm = false,
                                             .collective = true}));
}

} // namespace tilescope::config::schema_rows
