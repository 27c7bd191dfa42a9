/* table.c - the CPU's kernel table for link fields, for one instruction set and precision. */
#include "gauge/cpu/kernels.h"

const kaon_gauge_ops KAON_EXPORT(kaon_gauge_ops) = {
    .encode = KAON_EXPORT(kaon_encode),
    .decode = KAON_EXPORT(kaon_decode),
    .copy = KAON_EXPORT(kaon_copy_links),
    .rotate = KAON_EXPORT(kaon_rotate),
    .clover_store = KAON_EXPORT(kaon_clover_store),
#if defined(KAON_PREC_DOUBLE)
    .fill = KAON_EXPORT(kaon_fill_links),
    .project = KAON_EXPORT(kaon_project),
    .inspect = KAON_EXPORT(kaon_inspect),
    .plaquette = KAON_EXPORT(kaon_plaquette),
    .charge = KAON_EXPORT(kaon_charge),
    .update = KAON_EXPORT(kaon_update_links),
    .transport = KAON_EXPORT(kaon_transport),
    .polyakov = KAON_EXPORT(kaon_polyakov),
    .transform = KAON_EXPORT(kaon_transform),
    .clover_term = KAON_EXPORT(kaon_clover_term),
    .clover_invert = KAON_EXPORT(kaon_clover_invert),
    .clover_square = KAON_EXPORT(kaon_clover_square),
    .link_size = KAON_EXPORT(kaon_link_size),
    .link_split = KAON_EXPORT(kaon_link_split),
#endif
#if !KAON_IS_HALF
    .fatten = KAON_EXPORT(kaon_fatten_stage),
    .line = KAON_EXPORT(kaon_line),
    .unitarise = KAON_EXPORT(kaon_unitarise),
#endif
};
