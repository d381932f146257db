// cuBLAS and cuBLASLt: handles and descriptors; every product has one algorithm, which needs no workspace.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <cstdlib>
#include <cstring>

#include "clocks.hpp"
#include "export.hpp"

namespace {

template <class Handle>
cublasStatus_t make(Handle* out) {
    *out = reinterpret_cast<Handle>(std::calloc(1, 64));
    return *out ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

}  // namespace

ENTRY cublasStatus_t cublasCreate_v2(cublasHandle_t* out) { return make(out); }

// PyTorch names the stream before every product.
ENTRY cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t stream) {
    nodevice::clocks().work(stream);
    return CUBLAS_STATUS_SUCCESS;
}

ENTRY cublasStatus_t cublasGetMathMode(cublasHandle_t, cublasMath_t* out) {
    *out = CUBLAS_DEFAULT_MATH;
    return CUBLAS_STATUS_SUCCESS;
}

ENTRY cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t, cublasPointerMode_t* out) {
    *out = CUBLAS_POINTER_MODE_HOST;
    return CUBLAS_STATUS_SUCCESS;
}

ENTRY size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
ENTRY cublasStatus_t cublasLtCreate(cublasLtHandle_t* out) { return make(out); }

ENTRY cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* out, cublasComputeType_t, cudaDataType_t) {
    return make(out);
}

ENTRY cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* out, cudaDataType, uint64_t, uint64_t,
                                                int64_t) {
    return make(out);
}

ENTRY cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t* out, cudaDataType) {
    return make(out);
}

ENTRY cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* out) { return make(out); }

ENTRY cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                                    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                    cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                                                    cublasLtMatmulHeuristicResult_t results[], int* found) {
    std::memset(results, 0, sizeof *results);
    results->state = CUBLAS_STATUS_SUCCESS;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}
