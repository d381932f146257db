// Why a job is refused, by its check or as it is run.
#pragma once

#include <string>

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/plan_check.hpp"

namespace vramfit::test {

/// Empty: it is not. CHECKs that the error is of the kind.
inline std::string reason_of(const Job& job, ErrorKind kind) {
    try {
        PlanChecker(job.model, job.stack).check(job.plan);
        (void)program_of(job);
    } catch (const Error& error) {
        CHECK(error.kind() == kind);
        return error.what();
    }
    return "";
}

}  // namespace vramfit::test
