// What candidates of every criterion gain.
#pragma once

#include "criteria/joint/gain.hpp"
#include "criteria/scalar/gain.hpp"
#include "criteria/vector/gain.hpp"
