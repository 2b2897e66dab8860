#pragma once

#include <nanobind/nanobind.h>

void register_engine(nanobind::module_& m);
void register_sampler(nanobind::module_& m);
