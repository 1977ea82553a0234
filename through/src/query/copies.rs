//! The two ends of a copy that the layer `gpu` counts: memory of a GPU, or of the host.

use super::routes::Route;

/// Memory that copies begin and end in. Of a host: its own first, then that of its GPUs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Memory {
    /// Empty where it is not known.
    pub host: String,
    /// As the process that copies numbers it; nothing: memory of the host.
    pub gpu: Option<String>,
}

/// What functions end with that move pages of managed memory.
const MIGRATION: &str = " migration";

/// From and to which GPU, or the host; nothing of a route that is no copy. CUDA's names for directions are `HtoD`, `DtoH`, `DtoD`, `PtoP`, and those
/// with an `A` for an array, which lies on a GPU.
pub fn ends(route: &Route) -> Option<[Option<&str>; 2]> {
    let [from, b't', b'o', to] = route.function.trim_end_matches(MIGRATION).as_bytes() else { return None };
    let is_copy = route.kind == "gpu" && [from, to].into_iter().all(|side| b"HDAP".contains(side));
    let (source, destination) = route.device.split_once(" to ").unwrap_or((&route.device, &route.device));
    let on = |side: &u8, gpu| (*side != b'H').then_some(gpu);
    is_copy.then(|| [on(from, source), on(to, destination)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_direction_tells_the_ends() {
        let of = |function: &str, device: &str| {
            let word = str::to_owned;
            let route = Route { function: word(function), device: word(device), kind: word("gpu"), ..Route::default() };
            ends(&route).map(|ends| ends.map(|end| end.unwrap_or("host").to_owned()).join(" > "))
        };
        assert_eq!(of("HtoD", "gpu1").unwrap(), "host > gpu1");
        assert_eq!(of("AtoH", "gpu0").unwrap(), "gpu0 > host");
        assert_eq!(of("DtoD", "gpu0").unwrap(), "gpu0 > gpu0");
        assert_eq!(of("PtoP", "gpu0 to gpu1").unwrap(), "gpu0 > gpu1");
        assert_eq!(of("DtoH migration", "gpu0").unwrap(), "gpu0 > host");
        assert_eq!(of("HtoH", "gpu0").unwrap(), "host > host");
        assert_eq!((of("uct_ep_put_zcopy", "cuda"), of("", "gpu0")), (None, None));
    }
}
