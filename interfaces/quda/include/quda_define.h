/** @file quda_define.h
 * Build of libquda. QUDA_TARGET_CUDA stands in every build, because PyQUDA asks for one of the three
 * targets; it does not say that this libquda uses a GPU. */
#pragma once

#define QUDA_TARGET_CUDA ON
