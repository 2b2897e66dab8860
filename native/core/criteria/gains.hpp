// What candidates of every criterion gain.
#pragma once

#include "criteria/high_order/gain.hpp"
#include "criteria/joint/gain.hpp"
#include "criteria/multi_output/gain.hpp"
#include "criteria/scalar/gain.hpp"
#include "criteria/vector/gain.hpp"
