/* kernels.h - the CPU kernels of gauge/, one file for each topic, collected in table.c. */
#pragma once

#include <math.h>

#include "gauge/gauge_ops.h"
#include "lib/core/kernel.h"

/* recode.c, rotate.c: all precisions */
void KAON_EXPORT(kaon_encode)(const kaon_launch *launch, const kaon_recode_args *args);
void KAON_EXPORT(kaon_decode)(const kaon_launch *launch, const kaon_recode_args *args);
void KAON_EXPORT(kaon_copy_links)(const kaon_launch *launch, void *to, const void *from,
                                  size_t bytes);
void KAON_EXPORT(kaon_rotate)(const kaon_launch *launch, const kaon_rotate_args *args);
void KAON_EXPORT(kaon_clover_store)(const kaon_launch *launch, const kaon_clover_store_args *args);

/* observe.c, update.c, fill.c, transform.c, clover.c: only double */
void KAON_EXPORT(kaon_fill_links)(const kaon_launch *launch, const kaon_fill_links_args *args);
void KAON_EXPORT(kaon_project)(const kaon_launch *launch, const kaon_links_args *args);
void KAON_EXPORT(kaon_inspect)(const kaon_launch *launch, const kaon_links_args *args);
void KAON_EXPORT(kaon_plaquette)(const kaon_launch *launch, const kaon_links_args *args);
void KAON_EXPORT(kaon_charge)(const kaon_launch *launch, const kaon_links_args *args);
void KAON_EXPORT(kaon_update_links)(const kaon_launch *launch, const kaon_update_links_args *args);
void KAON_EXPORT(kaon_transport)(const kaon_launch *launch, const kaon_transport_args *args);
void KAON_EXPORT(kaon_polyakov)(const kaon_launch *launch, const kaon_transport_args *args);
void KAON_EXPORT(kaon_transform)(const kaon_launch *launch, const kaon_transform_args *args);
void KAON_EXPORT(kaon_clover_term)(const kaon_launch *launch, const kaon_clover_term_args *args);
void KAON_EXPORT(kaon_clover_invert)(const kaon_launch *launch,
                                     const kaon_clover_invert_args *args);
void KAON_EXPORT(kaon_clover_square)(const kaon_launch *launch,
                                     const kaon_clover_square_args *args);

/* fatten.c: double and single */
void KAON_EXPORT(kaon_fatten_stage)(const kaon_launch *launch, const kaon_fatten_args *args);
void KAON_EXPORT(kaon_line)(const kaon_launch *launch, const kaon_line_args *args);
void KAON_EXPORT(kaon_unitarise)(const kaon_launch *launch, const kaon_unitarise_args *args);
