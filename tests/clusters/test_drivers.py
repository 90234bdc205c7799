"""Drivers."""

import pytest

from hearth.clusters.drivers import BUILTIN, Driver, Drivers, validate_master_count


def name(driver: Driver | None) -> str | None:
    return driver and driver.name


def test_images_find_their_driver():
    drivers = Drivers()
    assert name(drivers.serving("vm", "ubuntu", "kubernetes")) == "k8s_ubuntu_v1"
    assert name(drivers.serving("vm", "fedora-coreos", "kubernetes")) == "k8s_simulated_v1"
    assert drivers.serving("bm", "ubuntu", "kubernetes") is None
    assert drivers.serving("vm", "ubuntu", "swarm") is None


def test_two_drivers_for_the_same_images_are_refused():
    other = Driver("another", (("vm", "debian", "kubernetes"),))
    with pytest.raises(ValueError, match="k8s_debian_v1 and another both support vm, debian"):
        Drivers([*BUILTIN, other])
    drivers = Drivers([*BUILTIN, other], disabled=["k8s_debian_v1"])
    assert name(drivers.serving("vm", "debian", "kubernetes")) == "another"
    assert drivers.named("k8s_debian_v1") is None


def test_a_new_template_gets_the_first_driver_that_is_named():
    image = ("vm", "ubuntu", "kubernetes")
    drivers = Drivers(default="k8s_debian_v1")
    assert name(drivers.chosen("k8s_sandbox_v1", "k8s_simulated_v1", *image)) == "k8s_sandbox_v1"
    assert name(drivers.chosen(None, "k8s_simulated_v1", *image)) == "k8s_simulated_v1"
    assert name(drivers.chosen(None, None, *image)) == "k8s_debian_v1"
    assert name(Drivers().chosen(None, None, *image)) == "k8s_ubuntu_v1"
    assert drivers.chosen("unknown", None, *image) is None


def test_an_old_template_without_a_driver_is_looked_up():
    drivers = Drivers()
    assert name(drivers.of_template(None, "vm", "debian", "kubernetes")) == "k8s_debian_v1"
    assert drivers.of_template(None, "vm", None, "kubernetes") is None
    assert drivers.of_template("gone", "vm", "debian", "kubernetes") is None
    replaced = drivers.of_template("k8s_fedora_coreos_v1", "vm", "debian", "kubernetes")
    assert name(replaced) == "k8s_debian_v1"


def test_the_default_driver_must_exist():
    with pytest.raises(ValueError, match="default driver nobody"):
        Drivers(default="nobody")


def test_a_control_plane_has_an_odd_size():
    assert [count for count in range(-1, 6) if validate_master_count(count)] == [1, 3, 5]
