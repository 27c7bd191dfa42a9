/* sell_variants.cu - see sell_variants.h. */
#include "bench/measure/sell_variants.h"

#include "sparse/cuda/sell_one.h"

template <int HALF>
static void launch_variant(const kaon_launch *launch, const kaon_spmv_args *args, int variant) {
  rows_call a = rows_of(launch, args);
  a.lanes = 1;
  switch (variant) {
    case 0:
      sell_launch<1, HALF, 6, 4, SELL_SHARED>(launch, args, 6, &a);
      break;
    case 1:
      sell_launch<1, HALF, 5, 4, SELL_SHARED>(launch, args, 5, &a);
      break;
    case 2:
      sell_launch<1, HALF, 6, 8, SELL_SHARED>(launch, args, 6, &a);
      break;
    case 3:
      sell_launch<1, HALF, 5, 8, SELL_SHARED>(launch, args, 5, &a);
      break;
    case 4:
      sell_launch<1, HALF, 4, 8, SELL_SHARED>(launch, args, 4, &a);
      break;
    case 5:
      sell_launch<1, HALF, 8, 4, SELL_SHARED>(launch, args, 8, &a);
      break;
    case 6:
      sell_launch<1, HALF, 6, 4, SELL_OWN>(launch, args, 6, &a);
      break;
    case 7:
      sell_launch<1, HALF, 5, 4, SELL_OWN>(launch, args, 5, &a);
      break;
    case 8:
      sell_launch<1, HALF, 6, 8, SELL_OWN>(launch, args, 6, &a);
      break;
    default:
      sell_launch<1, HALF, 4, 8, SELL_OWN>(launch, args, 4, &a);
  }
}

#if defined(KAON_PREC_SINGLE)
extern "C" void sell_variant_s(const kaon_launch *launch, const kaon_spmv_args *args, int variant) {
  if (args->matrix->half)
    launch_variant<1>(launch, args, variant);
  else
    launch_variant<0>(launch, args, variant);
}
#else
extern "C" void sell_variant_d(const kaon_launch *launch, const kaon_spmv_args *args, int variant) {
  launch_variant<0>(launch, args, variant);
}
#endif
