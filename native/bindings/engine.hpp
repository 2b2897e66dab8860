#pragma once

#include <nanobind/nanobind.h>

void register_engine(nanobind::module_& m);
