// All criteria.
#pragma once

#include "criteria/high_order/criterion.hpp"
#include "criteria/joint/criterion.hpp"
#include "criteria/list.hpp"
#include "criteria/multi_output/criterion.hpp"
#include "criteria/scalar/criterion.hpp"
#include "criteria/vector/criterion.hpp"
