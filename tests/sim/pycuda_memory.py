# SPDX-License-Identifier: LGPL-2.1-or-later
"""What PyCUDA does with memory, streams and events, each result compared with NumPy's: plain,
pitched, pinned, registered and managed memory, copies of rows, fills, its own pool, an allocation
that is refused. No kernels. Ends with 77 where PyCUDA cannot be loaded."""
import sys

try:
    import numpy
    import pycuda.driver as cuda
    import pycuda.tools
except ImportError as reason:
    print(reason)
    sys.exit(77)

ROWS, COLUMNS = 1000, 37


def same(name, found, expected):
    if not numpy.array_equal(found, expected):
        sys.exit(name + " differs from NumPy's")


def round_trip(values):
    device = cuda.mem_alloc(values.nbytes)
    back = numpy.empty_like(values)
    cuda.memcpy_htod(device, values)
    cuda.memcpy_dtoh(back, device)
    same("a copy to the device and back", back, values)


def streams(values):
    stream, begin, end = cuda.Stream(), cuda.Event(), cuda.Event()
    source = cuda.pagelocked_empty(values.shape, values.dtype)
    target = cuda.pagelocked_zeros(values.shape, values.dtype)
    first, second = cuda.mem_alloc(values.nbytes), cuda.mem_alloc(values.nbytes)
    source[:] = values
    begin.record(stream)
    cuda.memcpy_htod_async(first, source, stream)
    cuda.memcpy_dtod_async(second, first, values.nbytes, stream)
    cuda.memcpy_dtoh_async(target, second, stream)
    end.record(stream)
    end.synchronize()
    same("copies of a stream", target, values)
    if end.time_since(begin) < 0:
        sys.exit("an event was before the one that it came after")


def rows(values):
    width = COLUMNS * values.itemsize
    device, pitch = cuda.mem_alloc_pitch(width, ROWS, values.itemsize)
    back = numpy.zeros_like(values)
    copy = cuda.Memcpy2D()
    copy.set_src_host(values)
    copy.set_dst_device(device)
    copy.src_pitch, copy.dst_pitch = width, pitch
    copy.width_in_bytes, copy.height = width, ROWS
    copy(aligned=True)
    copy = cuda.Memcpy2D()
    copy.set_src_device(device)
    copy.set_dst_host(back)
    copy.src_pitch, copy.dst_pitch = pitch, width
    copy.width_in_bytes, copy.height = width, ROWS
    copy(aligned=False)
    same("rows with a pitch", back, values)


def fills(values):
    device = cuda.mem_alloc(values.nbytes)
    back = numpy.empty(values.size, numpy.uint32)
    cuda.memset_d32(device, 0xC0FFEE, values.size)
    cuda.memcpy_dtoh(back, device)
    same("a fill of words", back, numpy.full(values.size, 0xC0FFEE, numpy.uint32))
    cuda.memset_d8(device, 0x5A, values.nbytes)
    cuda.memcpy_dtoh(back, device)
    same("a fill of bytes", back, numpy.full(values.size, 0x5A5A5A5A, numpy.uint32))


def host_memory(values):
    managed = cuda.managed_empty(values.shape, values.dtype, mem_flags=cuda.mem_attach_flags.GLOBAL)
    managed[:] = values
    cuda.Context.synchronize()
    same("managed memory", managed, values)
    registered = cuda.register_host_memory(cuda.aligned_empty(values.shape, values.dtype))
    registered[:] = values
    round_trip(registered)


def pool():
    kept = pycuda.tools.DeviceMemoryPool()
    blocks = [kept.allocate(1 << bits) for bits in range(8, 20)]
    if kept.active_blocks != len(blocks):
        sys.exit("PyCUDA's pool has lost a block")
    for block in blocks:
        block.free()
    kept.stop_holding()


def refusal(device):
    free, _ = cuda.mem_get_info()
    try:
        cuda.mem_alloc(device.total_memory() + 1)
    except cuda.MemoryError:
        pass
    else:
        sys.exit("more than the device has was given")
    if cuda.mem_get_info()[0] != free:
        sys.exit("a refusal has cost memory")


def main():
    cuda.init()
    values = numpy.random.default_rng(1).random((ROWS, COLUMNS), numpy.float32)
    for index in range(cuda.Device.count()):
        device = cuda.Device(index)
        context = device.make_context()
        for check in (round_trip, streams, rows, fills, host_memory):
            check(values)
        pool()
        refusal(device)
        print("checked", device.name(), device.pci_bus_id(), len(device.get_attributes()))
        context.pop()


main()
