#pragma once

#include <waggle/acrobot.h>
#include <waggle/bee_world.h>
#include <waggle/cart_pole.h>
#include <waggle/market_maker.h>
#include <waggle/mountain_car.h>
#include <waggle/pendulum.h>
#include <waggle/recall.h>
#include <waggle/reference/bee_world.h>
#include <waggle/reference/known_state.h>
#include <waggle/reference/market_maker.h>
#include <waggle/sensor.h>
#include <waggle/series.h>
#include <waggle/tanks.h>
#include <waggle/theory/hidden_markov.h>
#include <waggle/theory/mean_flow.h>
#include <waggle/tiger.h>

/// The options of problems, of their exact solutions and of the theory, as describe.h has those of
/// learners.
namespace waggle {

template <typename Visitor>
void describe(Visitor& v, SensorOptions& o) {
  v("noise", o.noise, "standard deviation of what is added to every number seen");
  v("delay", o.delay, "steps by which what is seen is late");
}

template <typename Visitor>
void describe(Visitor& v, BeeWorldOptions& o) {
  v("angular_frequency", o.angular_frequency, "how fast the nectar turns, in radians per step");
  v("max_move", o.max_move, "the longest move, in circumferences, at most 0.5");
  v("start", o.start, "position at the start");
}

template <typename Visitor>
void describe(Visitor& v, MarketMakerOptions& o) {
  v("control_cost", o.control_cost, "what a squared unit of drift costs");
  v("inventory_cost", o.inventory_cost, "what a squared unit of inventory costs");
  v("volatility", o.volatility, "standard deviation of the inventory's noise per unit of time");
  v("profit_rate", o.profit_rate, "what is earned per unit of time");
  v("time_step", o.time_step, "time between two steps");
  v("timing", o.timing, "whether the inventory after or before a move is charged");
  v("start", o.start, "inventory at the start");
}

template <typename Visitor>
void describe(Visitor& v, CartPoleOptions& o) {
  v("velocities", o.velocities, "show the velocities too, not only positions and angles");
  describe(v, o.sensor);
  v("episode_steps", o.episode_steps, "steps after which an episode is cut");
  v("gravity", o.gravity, "how strongly things fall");
  v("cart_mass", o.cart_mass, "of the cart");
  v("pole_mass", o.pole_mass, "of the pole");
  v("half_length", o.half_length, "of the pole, from its hinge to its middle");
}

template <typename Visitor>
void describe(Visitor& v, PendulumOptions& o) {
  v("velocities", o.velocities, "show the velocities too, not only positions and angles");
  describe(v, o.sensor);
  v("episode_steps", o.episode_steps, "steps after which an episode is cut");
  v("gravity", o.gravity, "how strongly things fall");
  v("mass", o.mass, "of the rod");
  v("length", o.length, "of the rod");
}

template <typename Visitor>
void describe(Visitor& v, MountainCarOptions& o) {
  v("velocities", o.velocities, "show the velocities too, not only positions and angles");
  describe(v, o.sensor);
  v("episode_steps", o.episode_steps, "steps after which an episode is cut");
  v("power", o.power, "acceleration by the full force of the engine");
}

template <typename Visitor>
void describe(Visitor& v, AcrobotOptions& o) {
  v("velocities", o.velocities, "show the velocities too, not only positions and angles");
  describe(v, o.sensor);
  v("episode_steps", o.episode_steps, "steps after which an episode is cut");
}

template <typename Visitor>
void describe(Visitor& v, RecallOptions& o) {
  v("answer", o.answer, "which symbol is asked for: that of some steps ago, or the first");
  v("back", o.back, "how many steps ago; 0: the one on display");
  v("symbols", o.symbols, "how many there are");
  v("decks", o.decks, "of 13 cards of each symbol, shown in an episode");
  describe(v, o.sensor);
}

template <typename Visitor>
void describe(Visitor& v, TigerOptions& o) {
  v("accuracy", o.accuracy, "chance to hear the tiger where it is, in [0.5, 1]");
  v("listen_cost", o.listen_cost, "of listening once");
  v("tiger_cost", o.tiger_cost, "of opening the tiger's door");
  v("gold", o.gold, "what the other door is worth");
  v("episode_steps", o.episode_steps, "after which an episode is cut off; 0: never");
}

template <typename Visitor>
void describe(Visitor& v, TanksOptions& o) {
  v("outflow", o.outflow, "share of the first tank's level that runs off in a step");
  v("drain", o.drain, "share of the second tank's level that runs off in a step");
  v("pipe_delay", o.pipe_delay, "steps the water spends between the tanks");
  v("disturbance", o.disturbance, "standard deviation of what a step adds to each level");
  v("noise", o.noise, "standard deviation of what is added to the level seen");
  v("first_cost", o.first_cost, "what a squared unit of the first level costs");
  v("second_cost", o.second_cost, "what a squared unit of the second level costs");
  v("pump_cost", o.pump_cost, "what a squared unit pumped costs");
  v("valve_cost", o.valve_cost, "what a squared unit of the valve's flow costs");
  v("max_pump", o.max_pump, "bound of what is pumped in a step");
  v("max_valve", o.max_valve, "bound of the valve's flow in a step");
  v("start_spread", o.start_spread, "standard deviation of the levels at the start");
  v("episode_steps", o.episode_steps, "after which an episode is cut off; 0: never");
}

template <typename Visitor>
void describe(Visitor& v, MackeyGlassOptions& o) {
  v("steps", o.steps, "samples wanted");
  v("time_step", o.time_step, "time between samples");
  v("feedback", o.feedback, "strength of the delayed feedback");
  v("decay", o.decay, "rate of decay");
  v("exponent", o.exponent, "of the feedback's saturation");
  v("delay", o.delay, "of the feedback, in units of time");
  v("history", o.history, "centre of the constant before the start");
  v("history_spread", o.history_spread, "that constant is drawn from the centre ± this");
  v("discard", o.discard, "samples left out at the beginning");
  v("substeps", o.substeps, "steps of the integrator between samples");
  v("seed", o.seed, "draws the start");
}

template <typename Visitor>
void describe(Visitor& v, Narma10Options& o) {
  v("steps", o.steps, "samples wanted");
  v("highest", o.highest, "inputs are drawn from 0 to this, at most 0.5");
  v("seed", o.seed, "draws the input");
}

template <typename Visitor>
void describe(Visitor& v, LorenzOptions& o) {
  v("steps", o.steps, "samples wanted");
  v("time_step", o.time_step, "time between samples");
  v("sigma", o.sigma, "the Prandtl number σ");
  v("rho", o.rho, "the Rayleigh number ρ");
  v("beta", o.beta, "the geometric factor β");
  v("discard", o.discard, "samples left out at the beginning");
  v("tolerance", o.tolerance, "of a step of the integrator, absolute and relative");
  v("seed", o.seed, "draws the start");
}

namespace reference {

template <typename Visitor>
void describe(Visitor& v, NoisyLinearPolicy& o) {
  v("gain", o.gain, "the action is minus this times the inventory");
  v("noise", o.noise, "standard deviation of what is added to it");
}

template <typename Visitor>
void describe(Visitor& v, OptimalFlightOptions& o) {
  v("world", o.world, "the Bee World flown in");
  v("discount", o.discount, "what a reward counts one step later; 1 is the best average");
  v("steps", o.steps, "of the flight");
  v("grid", o.grid, "cells round the circle");
  v("start_time", o.start_time, "time of the first step");
}

template <typename Visitor>
void describe(Visitor& v, SwingUpOptions& o) {
  v("pendulum", o.pendulum, "the pendulum swung up");
  v("angles", o.angles, "points of the grid round the circle");
  v("velocities", o.velocities, "points of the grid from the fastest turn back to the fastest on");
}

template <typename Visitor>
void describe(Visitor& v, ClimbOptions& o) {
  v("car", o.car, "the car that climbs");
  v("discount", o.discount, "what a reward counts one step later; 1 is in no hurry");
  v("positions", o.positions, "points of the grid from the wall to the end");
  v("velocities", o.velocities, "points of the grid from the fastest back to the fastest on");
}

template <typename Visitor>
void describe(Visitor& v, AcrobotPlanOptions& o) {
  v("acrobot", o.acrobot, "the acrobot planned for");
  v("angles", o.angles, "points of the grid round each circle");
  v("velocities", o.velocities, "points of the grid of each velocity");
  v("beam", o.beam, "states kept at each step of a plan");
  v("episodes", o.episodes, "plans made, each for a start of its own");
}

template <typename Visitor>
void describe(Visitor& v, EulerLagrangeOptions& o) {
  v("world", o.world, "the Bee World flown in");
  v("discount", o.discount, "what a reward counts one step later");
  v("barrier", o.barrier, "weight of the barrier that keeps the velocity in its limit");
  v("sign", o.sign, "the flow as the paper prints it, or with its right-hand side reversed");
  v("steps", o.steps, "duration of the flight");
  v("samples_per_step", o.samples_per_step, "how often the flight is recorded");
  v("tolerance", o.tolerance, "of a step of the integrator, absolute and relative");
  v("integrator", o.integrator, "explicit, or one that copes with stiffness");
}

}  // namespace reference

namespace theory {

template <typename Visitor>
void describe(Visitor& v, HiddenMarkovOptions& o) {
  v("flip", o.flip, "chance that the hidden sign turns over in a step");
  v("contrast", o.contrast, "how much one observation tells of it, in [0, 1]");
}

template <typename Visitor>
void describe(Visitor& v, MeanFlowOptions& o) {
  v("end_time", o.end_time, "how long the flow is followed");
  v("points", o.points, "times at which it is reported, after the start");
  v("tolerance", o.tolerance, "of the integrator, relative and absolute");
}

}  // namespace theory
}  // namespace waggle
