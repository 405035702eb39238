#include "core/engine/parallel/parallelism.h"

#include "core/base/error.h"
#include "core/engine/parallel/replicas.h"
#include "core/engine/parallel/sharded_weights.h"
#include "core/engine/parallel/tensor_parts.h"
#include "core/engine/ranks/collectives.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

namespace tilescope::engine {

void Parallelism::gradientMade(const at::Tensor& /*leaf*/, at::Tensor /*gradient*/)
{
    TORCH_CHECK(false, "this parallelism needs autograd");
}

void Parallelism::agree(Ranks& ranks, const at::Tensor& found)
{
    ranks.allReduce(found).wait();
    found.clamp_max_(1);
}

std::unique_ptr<Parallelism> makeParallelism(const ExperimentSpec& spec, Ranks& ranks)
{
    switch (spec.parallel) {
    case Parallel::None:
        throw Error{.what = "several ranks need a way to share the work, and 'parallel' is none",
                    .where = "parallel",
                    .remedy = "write parallel: ddp"};
    case Parallel::Fsdp:
        return makeShardedWeights(spec, ranks);
    case Parallel::Tp:
        return makeTensorParts(ranks);
    case Parallel::FsdpTp:
        return makeShardedParts(spec, ranks);
    case Parallel::DdpNaive:
    case Parallel::DdpFlat:
    case Parallel::Ddp:
    case Parallel::OptimizerSharding:
    case Parallel::Zero1:
        break;
    }
    return makeReplicas(spec, ranks);
}

} // namespace tilescope::engine
